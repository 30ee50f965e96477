#!/bin/bash
set -euo pipefail
./correct.sh march.journal april.corrections | sort -s -k1,1 | awk '
  function money(value,   size) {
    size = value < 0 ? -value : value
    return sprintf("%s%d.%02d", value < 0 ? "-" : "", size / 100, size % 100)
  }
  $2 == $3 || ($2 != "cash" && $3 != "cash") { next }
  {
    split($4 ".", parts, ".")
    change = (parts[1] * 100 + substr(parts[2] "00", 1, 2)) * ($3 == "cash" ? 1 : -1)
    balance += change
    print $1, money(change), money(balance)
  }
' >statement.txt
