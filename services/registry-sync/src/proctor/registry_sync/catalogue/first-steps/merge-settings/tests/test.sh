#!/bin/bash
# Runs /app/merge.sh on files that the agent has not seen.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL=C
reward=0
trap 'rm -f /logs/verifier/reward.json; echo "$reward" >/logs/verifier/reward.txt' EXIT
fail() { echo "FAIL: $*"; exit; }

[[ -x /app/merge.sh ]] || fail "/app/merge.sh is missing or not executable"
scratch=$(mktemp -d) && cd "$scratch" || fail "no scratch folder"
expect() { [[ "$2" == "$3" ]] || fail "$1: got '$2', want '$3'"; }
merge() { timeout 5 /app/merge.sh "$@"; }

printf 'b = 2\n a=1\nB=x\nb = 3\n\n#c=9\n\t # d=9\nno setting\n = nameless\n' >one
printf 'path = /a=/b # c \r\nname\t=  two  words \r\nlast=kept' >"two words"
printf 'a=\nb=\nb = back\npath=\\n%%s$HOME `x` *\n' >-three
: >none

expect "one file" "$(merge one)" $'B=x\na=1\nb=3'
expect "CR LF and spaces" "$(merge 'two words')" $'last=kept\nname=two  words\npath=/a=/b # c'
expect "later wins" "$(merge one 'two words' ./-three)" $'B=x\nb=back\nlast=kept\nname=two  words\npath=\\n%s$HOME `x` *'
expect "order matters" "$(merge ./-three one)" $'B=x\na=1\nb=3\npath=\\n%s$HOME `x` *'
expect "an empty file" "$(merge none; echo "status $?")" "status 0"
expect "a missing file" "$(merge one missing 2>stderr; echo "status $?")" "status 2"
[[ -s stderr ]] || fail "a missing file: nothing on standard error"
reward=1
