#!/bin/bash
set -euo pipefail
cat >/app/top.sh <<'SCRIPT'
#!/bin/bash
set -uo pipefail
export LC_ALL=C
sed -nE 's/^([^ ]+) [^ ]+ [^ ]+ \[[^]]*\] ".*" 5[0-9][0-9] ([0-9]+|-)$/\1/p' \
  | sort | uniq -c | sed -E 's/^ +//' | sort -k1,1nr -k2,2 | sed -n "1,$1p"
SCRIPT
chmod +x /app/top.sh
