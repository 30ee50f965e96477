#!/bin/bash
set -euo pipefail
mkdir -p clean
for day in monday tuesday; do
  awk -v day="$day" '
    $3 == "NA" { next }
    {
      value = substr($3, 1, length($3) - 1)
      if ($3 ~ /F$/) value = (value - 32) / 1.8
      latest[$2 "\t" day "\t" $1] = sprintf("%.1f", value)
    }
    END { for (key in latest) print key "\t" latest[key] }
  ' "raw/$day.txt"
done | sort | while IFS=$'\t' read -r sensor day time value; do
  printf '%s\t%s\t%s\n' "$day" "$time" "$value" >>"clean/$sensor.tsv"
done
