#!/bin/bash
# This sandbox is a fresh one: it has the orders and, of what the agent made, /app/totals.csv alone.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL=C
reward=0
trap 'rm -f /logs/verifier/reward.json; echo "$reward" >/logs/verifier/reward.txt' EXIT
fail() { echo "FAIL: $*"; exit; }

[[ -f /app/totals.csv ]] || fail "/app/totals.csv is missing"
[[ "$(tr -d '\r' </app/totals.csv)" == "$(cat /tests/expected.csv)" ]] || fail "wrong totals: $(cat /app/totals.csv)"
reward=1
