#!/bin/bash
set -euo pipefail
cat >/app/balance.sh <<'SCRIPT'
#!/bin/bash
set -euo pipefail
export LC_ALL=C
awk '
  function cents(amount,   parts) {
    split(amount ".", parts, ".")
    return parts[1] * 100 + substr(parts[2] "00", 1, 2)
  }
  function money(value,   size) {
    size = value < 0 ? -value : value
    return sprintf("%s%d.%02d", value < 0 ? "-" : "", size / 100, size % 100)
  }
  /^#/ || NF < 4 { next }
  { balance[$2] -= cents($4); balance[$3] += cents($4) }
  END { for (account in balance) print account, money(balance[account]) }
' "$1" | sort
SCRIPT
chmod +x /app/balance.sh
