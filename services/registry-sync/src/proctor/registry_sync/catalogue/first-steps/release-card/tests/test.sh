#!/bin/bash
# The values are those of the Dockerfile and of [environment.env], which wins where both name a variable.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL=C
reward=0
trap 'rm -f /logs/verifier/reward.json; echo "$reward" >/logs/verifier/reward.txt' EXIT
fail() { echo "FAIL: $*"; exit; }

card=/srv/release/release.txt
[[ -f $card ]] || fail "$card is missing"
want=$'name: Quiet Harbour\nchannel: stable\nbuild: 117\n.'
[[ "$(cat "$card"; echo .)" == "$want" ]] || fail "$card has the wrong content: $(cat "$card")"
[[ "$(stat -c %a "$card")" == 640 ]] || fail "the mode of $card is $(stat -c %a "$card")"
reward=1
