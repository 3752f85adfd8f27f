"""Prints a token with which `maya` reads a session for an hour. Needs docs/clients/python/ledgerline.py beside it."""

import os
import sys

from ledgerline import mint_token

session = sys.argv[1] if len(sys.argv) > 1 else "run-42"
print(mint_token(os.environ["LEDGERLINE_TOKEN_SECRET"], sub="maya", sessions=[session], scope="read", ttl_seconds=3600))
