#!/bin/bash
# Half of the reward for each of the two files.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL=C
reward=0
trap 'rm -f /logs/verifier/reward.json; echo "$reward" >/logs/verifier/reward.txt' EXIT

halves=0
for name in by-customer orphans; do
  if [[ -f /app/$name.tsv && "$(cat "/app/$name.tsv")" == "$(cat "/tests/$name.tsv")" ]]; then
    halves=$((halves + 1))
  else
    echo "FAIL: /app/$name.tsv is missing or wrong"
  fi
done
rewards=(0 0.5 1)
reward=${rewards[halves]}
