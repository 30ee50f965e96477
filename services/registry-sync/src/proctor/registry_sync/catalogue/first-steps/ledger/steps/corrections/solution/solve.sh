#!/bin/bash
set -euo pipefail
cat >/app/correct.sh <<'SCRIPT'
#!/bin/bash
# JOURNAL CORRECTIONS: prints the journal's payments as corrected
set -euo pipefail
awk '
  FILENAME == ARGV[1] && FNR == NR { if (!/^#/ && NF >= 2) rule[++rules] = $0; next }
  /^#/ || NF < 4 { next }
  {
    void = 0
    for (r = 1; r <= rules; r++) {
      split(rule[r], word)
      if (word[2] != FNR) continue
      if (word[1] == "void") void = 1
      if (word[1] == "amount") $4 = word[3]
      if (word[1] == "swap") { kept = $2; $2 = $3; $3 = kept }
    }
    if (!void) print
  }
' <(cat "$2"; echo) "$1"
SCRIPT
sed 's|"\$1"|<("$(dirname "$0")/correct.sh" "$1" "${2:-/dev/null}")|' /app/balance.sh >/app/balance.new
mv /app/balance.new /app/balance.sh
chmod +x /app/balance.sh /app/correct.sh
