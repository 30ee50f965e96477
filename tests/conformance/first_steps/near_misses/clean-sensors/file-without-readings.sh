#!/bin/bash
# reward 0: /app/clean has: attic.tsv cellar.tsv porch.tsv roof.tsv
bash /solution/real.sh
: >clean/porch.tsv
