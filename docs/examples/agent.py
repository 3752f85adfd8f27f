"""An agent streams its answer into a session, and a reader follows it. Needs docs/clients/python/ledgerline.py beside it."""

import os
import sys

from ledgerline import Producer, follow

session = sys.argv[1] if len(sys.argv) > 1 else "run-42"
answer = ["Number your events, ", "and you can afford ", "to lose them on the wire."]  # or what your model streams

with Producer(os.environ["LEDGERLINE_INTERNAL_URL"], os.environ["LEDGERLINE_KEY"], session) as producer:
    for text in answer:
        producer.append("text.delta", {"message": "m1", "text": text})
    producer.append("message.completed", {"message": "m1", "role": "assistant", "content": "".join(answer)})
# here all of it is stored

# until the session is closed, or Ctrl-C
for event in follow(os.environ["LEDGERLINE_URL"], os.environ["LEDGERLINE_TOKEN"], session):
    print(event["sequence"], event["data"], flush=True)
