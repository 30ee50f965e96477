#!/bin/bash
# reward 0: a missing file
bash /solution/real.sh
sed -i '/^for file in "$@"; do$/,/^done$/d' merge.sh
