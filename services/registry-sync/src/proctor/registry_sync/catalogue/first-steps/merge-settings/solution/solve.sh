#!/bin/bash
set -euo pipefail
cat >/app/merge.sh <<'SCRIPT'
#!/bin/bash
set -uo pipefail
export LC_ALL=C
for file in "$@"; do
  [[ -f $file && -r $file ]] || { echo "merge.sh: cannot read $file" >&2; exit 2; }
done
# awk ends every line with a newline, so that files without a last one don't run together
for file in "$@"; do awk 1 <"$file"; done | awk '
  { sub(/\r$/, "") }
  /^[ \t]*#/ || !/=/ { next }
  {
    at = index($0, "=")
    key = substr($0, 1, at - 1)
    value = substr($0, at + 1)
    gsub(/^[ \t]+|[ \t]+$/, "", key)
    gsub(/^[ \t]+|[ \t]+$/, "", value)
    if (key == "") next
    if (value == "") delete settings[key]
    else settings[key] = value
  }
  END { for (key in settings) print key "=" settings[key] }
' | sort -t= -k1,1
SCRIPT
chmod +x /app/merge.sh
