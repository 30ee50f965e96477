#!/bin/bash
set -euo pipefail
cat >/app/pack.sh <<'SCRIPT'
#!/bin/bash
set -euo pipefail
export LC_ALL=C
[[ -d $1 ]] || { echo "pack.sh: $1 is not a folder" >&2; exit 2; }
tar --create --directory="$1" --sort=name --format=gnu --mtime=@0 --owner=0 --group=0 --numeric-owner \
  --exclude='*.tmp' . | gzip --no-name >"$2"
SCRIPT
chmod +x /app/pack.sh
