#!/bin/bash
# reward 0: equal folders, different archives
bash /solution/real.sh
sed -i 's/--exclude=[^ ]* //' pack.sh
