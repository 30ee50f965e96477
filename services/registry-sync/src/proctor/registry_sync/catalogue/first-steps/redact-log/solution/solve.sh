#!/bin/bash
set -euo pipefail
cat >/app/redact.sh <<'SCRIPT'
#!/bin/bash
export LC_ALL=C
octet='(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])'
# one address per pass: neighbours share the character between them
exec sed -E \
  -e 's/[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+/<email>/g' \
  -e ":next" \
  -e "s/(^|[^A-Za-z0-9.])$octet\\.$octet\\.$octet\\.$octet(\$|[^A-Za-z0-9.]|\\.\$|\\.[^0-9])/\\1<ip>\\6/" \
  -e "t next"
SCRIPT
chmod +x /app/redact.sh
