#!/bin/bash
# reward 0: files are missing or changed
for path in inbox/*; do
  name=${path##*/}
  extension=${name##*.}
  case $name in README | *.) extension=none ;; esac
  mkdir -p "sorted/$extension"
  mv "$path" "sorted/$extension/"
done
