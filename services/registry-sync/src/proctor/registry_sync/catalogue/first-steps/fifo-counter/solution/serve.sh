#!/bin/bash
cd /app/run || exit
exec 3<>requests # open for writing too: the last client's close is then no end of file
declare -A counters

answer() {
  printf '%s\n' "$2" >"reply.$1.tmp"
  mv "reply.$1.tmp" "replies/$1"
}

while IFS= read -r line <&3; do
  id=${line%% *}
  [[ $id =~ ^[A-Za-z0-9-]+$ ]] || continue
  request=${line#"$id"}
  if [[ $request =~ ^\ add\ ([a-z]+)\ (-?)([0-9]{1,9})$ ]]; then
    name=${BASH_REMATCH[1]}
    counters[$name]=$((${counters[$name]:-0} + ${BASH_REMATCH[2]}10#${BASH_REMATCH[3]}))
    answer "$id" "ok ${counters[$name]}"
  elif [[ $request =~ ^\ get\ ([a-z]+)$ ]]; then
    answer "$id" "ok ${counters[${BASH_REMATCH[1]}]:-0}"
  elif [[ $request =~ ^\ reset\ ([a-z]+)$ ]]; then
    counters[${BASH_REMATCH[1]}]=0
    answer "$id" "ok 0"
  else
    answer "$id" "error"
  fi
done
