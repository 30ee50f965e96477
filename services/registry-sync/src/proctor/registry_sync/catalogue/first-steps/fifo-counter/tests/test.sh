#!/bin/bash
# Talks to the service that the agent left running.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL=C
reward=0
trap 'rm -f /logs/verifier/reward.json; echo "$reward" >/logs/verifier/reward.txt' EXIT
fail() { echo "FAIL: $*"; exit; }

requests=/app/run/requests
[[ -p $requests ]] || fail "$requests is missing or not a named pipe"
tag="v$RANDOM-$RANDOM"

send() { timeout 2 bash -c 'printf "%s\n" "$1" >"$2"' _ "$1" "$requests" || fail "nobody reads $requests"; }
reply() {  # ID: prints the answer, which must come within two seconds
  for ((i = 0; i < 100; i++)); do
    [[ -e /app/run/replies/$1 ]] && cat "/app/run/replies/$1" && return
    sleep 0.02
  done
  echo "no answer"
}
n=0
expect() {  # REQUEST-WITHOUT-ID ANSWER
  n=$((n + 1))
  send "$tag-$n $1"
  local got
  got=$(reply "$tag-$n")
  [[ "$got" == "$2" ]] || fail "'$1' was answered '$got', want '$2'"
}

expect "get apples" "ok 0"
expect "add apples 12" "ok 12"
expect "add apples -20" "ok -8"
expect "add pears 010" "ok 10"
expect "add pears -09" "ok 1"
expect "get apples" "ok -8"
expect "reset apples" "ok 0"

for bad in "" "add" "add apples" "add apples x" "add apples 1 2" "add apples 1.5" "add apples +1" "get" "get Apples" \
  "drop apples" "add apples 9999999999" "add a[\$(touch\${IFS}/app/run/pwned)] 1" "add apples a[\$(touch\${IFS}/app/run/pwned)]"; do
  expect "$bad" "error"
done
send ""
send "   "
send "../$tag get apples"
send "$tag/x get apples"
send '* get apples'
expect "get apples" "ok 0"
[[ ! -e /app/run/pwned && ! -e /app/run/$tag ]] || fail "a request was run or escaped from the replies folder"

for ((c = 1; c <= 20; c++)); do send "$tag-crowd-$c add crowd 1" & done
wait
for ((c = 1; c <= 20; c++)); do
  [[ "$(reply "$tag-crowd-$c")" == ok\ * ]] || fail "request $c of 20 at the same time wasn't answered"
done
expect "get crowd" "ok 20"
reward=1
