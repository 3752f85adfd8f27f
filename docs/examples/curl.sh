#!/bin/sh
# Creates a session, appends an event, streams lines into it, and follows it until Ctrl-C, with curl alone.
set -eu
session=${1:-run-42}
key="Authorization: Bearer $LEDGERLINE_KEY" # of the internal listener
token="Authorization: Bearer $LEDGERLINE_TOKEN" # of a reader, for the public one
events=$LEDGERLINE_INTERNAL_URL/internal/sessions/$session/events

# It may be there already.
curl -sSf -H "$key" -H 'Content-Type: application/json' -d "{\"session\":\"$session\"}" "$LEDGERLINE_INTERNAL_URL/sessions"
echo

# One append: all of its events or none.
curl -sSf -H "$key" -H 'Content-Type: application/json' -d '{"events":[{"type":"note","data":{"text":"hello"}}]}' "$events"
echo

# A line an event, in one request that may stay open for hours: each is stored and acknowledged as it comes.
for count in 1 2 3; do
  echo "{\"type\":\"note\",\"data\":{\"count\":$count}}"
done | curl -sSfN -T - -X POST -H "$key" -H 'Content-Type: application/x-ndjson' "$events?producer=curl-$$&sequence=1"

# From the first event on; -H 'Last-Event-ID: 41', or ?after=41, goes on behind one that was seen.
exec curl -sSfN -H "$token" "$LEDGERLINE_URL/sessions/$session/stream"
