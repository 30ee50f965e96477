#!/bin/bash
# Runs in the image of tests/Dockerfile, which has nothing of the task but /app/clean as the agent left it.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL=C
reward=0
trap 'rm -f /logs/verifier/reward.json; echo "$reward" >/logs/verifier/reward.txt' EXIT
fail() { echo "FAIL: $*"; exit; }

shopt -s dotglob nullglob
cd /app/clean || fail "/app/clean is missing"
names=(*)
[[ "${names[*]}" == "attic.tsv cellar.tsv roof.tsv" ]] || fail "/app/clean has: ${names[*]}"
for name in "${names[@]}"; do
  [[ "$(cat "$name")" == "$(cat "/tests/expected/$name")" ]] || fail "$name is wrong: $(cat "$name")"
done
reward=1
