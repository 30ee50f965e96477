#!/bin/bash
set -euo pipefail
cat >/app/fill.sh <<'SCRIPT'
#!/bin/bash
set -euo pipefail
export LC_ALL=C
declare -A values
while IFS= read -r line || [[ -n $line ]]; do
  name=${line%%=*}
  [[ $line == *=* && $name =~ ^[A-Za-z_][A-Za-z0-9_]*$ ]] && values[$name]=${line#*=}
done <"$2"

rest=$(cat -- "$1"; printf x)
rest=${rest%x}
filled=
while [[ $rest == *'{{'* ]]; do
  filled+=${rest%%'{{'*}
  rest=${rest#*'{{'}
  if [[ ${rest%%'}}'*} =~ ^\ *([A-Za-z_][A-Za-z0-9_]*)\ *$ && $rest == *'}}'* ]]; then
    name=${BASH_REMATCH[1]}
    [[ -v values[$name] ]] || { echo "fill.sh: no value for $name" >&2; exit 3; }
    filled+=${values[$name]}
    rest=${rest#*'}}'}
  else
    filled+='{'
    rest="{$rest"
  fi
done
printf '%s' "$filled$rest"
SCRIPT
chmod +x /app/fill.sh
