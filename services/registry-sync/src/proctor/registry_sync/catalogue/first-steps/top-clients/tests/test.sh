#!/bin/bash
# Runs /app/top.sh on logs that the agent has not seen.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL=C
reward=0
trap 'rm -f /logs/verifier/reward.json; echo "$reward" >/logs/verifier/reward.txt' EXIT
fail() { echo "FAIL: $*"; exit; }

[[ -x /app/top.sh ]] || fail "/app/top.sh is missing or not executable"
scratch=$(mktemp -d) && cd "$scratch" || fail "no scratch folder"

line() { echo "$1 - - [09/Nov/2024:08:00:00 +0000] \"$2\" $3"; }
{
  for i in 1 2 3 4 5 6 7 8 9 10 11; do line 192.0.2.9 "GET /$i HTTP/1.1" "500 10"; done
  for i in 1 2; do line 192.0.2.30 "GET /a b c HTTP/1.1" "599 -"; line 192.0.2.4 "GET / HTTP/1.1" "503 7"; done
  for i in 1 2 3; do line 192.0.2.77 'GET /?q=\"x\" 500 HTTP/1.1' "404 500"; line 2001:db8::1 "GET / HTTP/1.1" "200 500"; done
  line 2001:db8::1 'GET /?say=\"hi there\" HTTP/1.1' "500 0"
  line 192.0.2.5 "GET / HTTP/1.1" "600 1"
  echo "500 500 500"
  echo
  echo "-- log turned over, status 500 10"
} >log

expect() { [[ "$1" == "$2" ]] || fail "got '$1', want '$2'"; }
expect "$(timeout 5 /app/top.sh 3 <log)" $'11 192.0.2.9\n2 192.0.2.30\n2 192.0.2.4'
expect "$(timeout 5 /app/top.sh 1 <log)" "11 192.0.2.9"
expect "$(timeout 5 /app/top.sh 50 <log)" $'11 192.0.2.9\n2 192.0.2.30\n2 192.0.2.4\n1 2001:db8::1'
expect "$(timeout 5 /app/top.sh 3 </dev/null; echo "status $?")" "status 0"
reward=1
