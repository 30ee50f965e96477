#!/bin/bash
source /tests/checks.sh

balances "$plain_balances" hidden.journal
: >none
balances "$plain_balances" hidden.journal none
# lines 3 to 32 are thirty payments of 0.10, 33 is 3, 34 the loan, 35 food to food
printf '# to do\n\nvoid 35\nvoid 1\nswap 2\namount 3 1.5\namount 3 0.20\nswap 33\nvoid 34\namount 34 5\nvoid 99\n' >some
balances $'Cash 6.10\nbank -6.10' hidden.journal some
balances $'bank -1234.55\ncash 14.60\nfood 85.40\nrent 1134.55' /app/march.journal /app/march.corrections
reward=1
