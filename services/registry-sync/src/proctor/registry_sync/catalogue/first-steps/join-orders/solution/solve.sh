#!/bin/bash
set -euo pipefail
awk -F '\t' '
  FILENAME ~ /orders/ { orders["id " $2]++; sum["id " $2] += $3; next }
  { printf "%s\t%s\t%d\t%d\n", $1, $2, orders["id " $1], sum["id " $1] }
' data/orders.tsv data/customers.tsv >by-customer.tsv
awk -F '\t' '
  FILENAME ~ /customers/ { known["id " $1] = 1; next }
  !("id " $2 in known)
' data/customers.tsv data/orders.tsv >orphans.tsv
