#!/bin/bash
source /tests/checks.sh

balances "$plain_balances" hidden.journal
want='2024-03-02 120.00 120.00
2024-03-02 10.00 130.00
2024-03-15 -25.40 104.60
2024-03-20 -60.00 44.60'
[[ -f /app/statement.txt ]] || fail "/app/statement.txt is missing"
[[ "$(cat /app/statement.txt)" == "$want" ]] || fail "wrong statement: $(cat /app/statement.txt)"
reward=1
