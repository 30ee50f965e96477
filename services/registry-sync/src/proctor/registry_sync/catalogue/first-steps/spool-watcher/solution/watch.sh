#!/bin/bash
cd /app/spool || exit
shopt -s nullglob

total() {  # JOB: prints the sum; fails if the job isn't a good one
  awk '
    /^$/ { next }
    !/^-?[0-9]+$/ { bad = 1; exit }
    { digits = $0; sub(/^-/, "", digits); if (length(digits) > 9) { bad = 1; exit } }
    { sum += $0; seen = 1 }
    END { if (bad || !seen) exit 1; printf "%.0f\n", sum }
  ' <"$1"
}

while :; do
  for job in in/*.job; do
    name=${job#in/}
    name=${name%.job}
    if total "$job" >"out/.$name.tmp"; then
      mv "out/.$name.tmp" "out/$name.sum"
      rm "$job"
    else
      rm "out/.$name.tmp"
      mv "$job" "failed/$name.job"
    fi
  done
  sleep 0.03
done
