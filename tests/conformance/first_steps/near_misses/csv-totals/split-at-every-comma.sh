#!/bin/bash
# reward 0: wrong totals
awk -F, '
  NR > 1 { n[$2]++; total[$2] += $NF }
  END { print "region,orders,total"; for (region in n) printf "%s,%d,%.2f\n", region, n[region], total[region] }
' orders.csv >totals.csv
