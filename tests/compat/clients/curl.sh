#!/usr/bin/env bash
# curl: HTTP/1.0, chunked and gzip bodies, Expect: 100-continue.
set -eu
body='{"model":"m","messages":[{"role":"user","content":"What is the capital of Australia?"}]}'
url="$OPENAI_BASE_URL/chat/completions"
ask() { curl -sS --max-time 20 -o /dev/null -w '%{http_code}' -H 'content-type: application/json' "$@" "$url"; }
plain=$(ask -d "$body")
old=$(ask --http1.0 -d "$body")
chunked=$(ask -H 'transfer-encoding: chunked' -d "$body")
expect=$(ask -H 'expect: 100-continue' -d "$body")
packed=$(printf '%s' "$body" | gzip | ask -H 'content-encoding: gzip' --data-binary @-)
printf '{"plain": %s, "http/1.0": %s, "chunked": %s, "expect": %s, "gzip": %s}\n' "$plain" "$old" "$chunked" "$expect" "$packed"
