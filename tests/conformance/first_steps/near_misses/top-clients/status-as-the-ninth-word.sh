#!/bin/bash
# reward 0: got '11 192.0.2.9
cat >top.sh <<'SCRIPT'
#!/bin/bash
awk '$9 >= 500 { n[$1]++ } END { for (c in n) print n[c], c }' | LC_ALL=C sort -k1,1nr -k2 | head -n $1
SCRIPT
chmod +x top.sh
