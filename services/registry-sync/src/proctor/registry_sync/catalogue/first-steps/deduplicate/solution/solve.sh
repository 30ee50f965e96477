#!/bin/bash
set -euo pipefail
cat >/app/dedupe.sh <<'SCRIPT'
#!/bin/bash
set -euo pipefail
export LC_ALL=C
shopt -s globstar dotglob nullglob
cd -- "$1"
declare -A kept
replaced=0
for path in ./**; do
  [[ -f $path && ! -L $path && -s $path ]] || continue
  digest=$(sha256sum <"$path")
  first=${kept[$digest]:=$path}
  [[ $path -ef $first ]] && continue
  ln -f -- "$first" "$path"
  replaced=$((replaced + 1))
done
echo "$replaced"
SCRIPT
chmod +x /app/dedupe.sh
