#!/bin/bash
set -euo pipefail
for path in /app/inbox/*; do
  name=${path##*/}
  extension=none
  [[ $name == *.?* ]] && extension=${name##*.}
  [[ -n $extension ]] || extension=none
  folder=/app/sorted/${extension,,}
  mkdir -p "$folder"
  mv -- "$path" "$folder/"
done
