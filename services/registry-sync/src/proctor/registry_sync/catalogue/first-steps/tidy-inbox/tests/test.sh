#!/bin/bash
# The tree below /app must be the one in expected.sha256, no more and no less.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL=C
reward=0
trap 'rm -f /logs/verifier/reward.json; echo "$reward" >/logs/verifier/reward.txt' EXIT
fail() { echo "FAIL: $*"; exit; }

shopt -s globstar dotglob nullglob
cd /app || fail "/app is missing"
sha256sum --check --quiet /tests/expected.sha256 || fail "files are missing or changed"
files=()
for path in inbox/** sorted/**; do [[ -d $path ]] || files+=("$path"); done
[[ ${#files[@]} == "$(wc -l </tests/expected.sha256)" ]] || fail "unexpected files: ${files[*]}"
folders=(sorted/*/)
[[ "${folders[*]}" == "sorted/gz/ sorted/jpg/ sorted/none/ sorted/pdf/ sorted/txt/" ]] || fail "folders: ${folders[*]}"
reward=1
