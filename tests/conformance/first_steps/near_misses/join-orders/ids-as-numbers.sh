#!/bin/bash
# reward 0: /app/orphans.tsv is missing or wrong
awk -F '\t' 'NR == FNR { n[$2 + 0]++; sum[$2 + 0] += $3; next } { print $1 "\t" $2 "\t" n[$1 + 0] + 0 "\t" sum[$1 + 0] + 0 }' \
  data/orders.tsv data/customers.tsv >by-customer.tsv
awk -F '\t' 'NR == FNR { known[$1 + 0]; next } !($2 + 0 in known)' data/customers.tsv data/orders.tsv >orphans.tsv
