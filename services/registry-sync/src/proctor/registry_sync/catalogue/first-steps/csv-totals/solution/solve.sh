#!/bin/bash
set -euo pipefail
awk '
  # the next field of `rest`, unquoted; `rest` then begins after its comma
  function field(   text, at) {
    if (substr(rest, 1, 1) != "\"") {
      at = index(rest ",", ",")
      text = substr(rest, 1, at - 1)
      rest = substr(rest, at + 1)
      return text
    }
    rest = substr(rest, 2)
    while ((at = index(rest, "\"")) && substr(rest, at, 2) == "\"\"") {
      text = text substr(rest, 1, at)
      rest = substr(rest, at + 2)
    }
    text = text substr(rest, 1, at - 1)
    rest = substr(rest, at + 2)
    return text
  }
  function cents(amount,   sign, parts) {
    sign = sub(/^-/, "", amount) ? -1 : 1
    gsub(/,/, "", amount)
    split(amount ".00", parts, ".")
    return sign * (parts[1] * 100 + substr(parts[2] "00", 1, 2))
  }
  NR > 1 {
    rest = $0
    field()
    region = field()
    field()
    orders[region]++
    total[region] += cents(field())
  }
  END {
    for (region in total) {
      name = region
      gsub(/"/, "\"\"", name)
      if (name ~ /[",]/) name = "\"" name "\""
      size = total[region] < 0 ? -total[region] : total[region]
      printf "%d\t%s,%d,%s%d.%02d\n", total[region], name, orders[region], total[region] < 0 ? "-" : "", size / 100, size % 100
    }
  }
' orders.csv | sort -k1,1nr | cut -f2- >sorted.tmp
{ echo region,orders,total; cat sorted.tmp; } >totals.csv
rm sorted.tmp
