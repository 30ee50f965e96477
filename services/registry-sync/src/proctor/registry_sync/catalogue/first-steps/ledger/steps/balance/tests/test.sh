#!/bin/bash
source /tests/checks.sh

balances "$plain_balances" hidden.journal
: >empty.journal
balances "" empty.journal
printf '2024-01-01 a b 0.05' >short.journal
balances $'a -0.05\nb 0.05' short.journal
reward=1
