#!/bin/bash
# Half of the reward for plain names, half for any names.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL=C
reward=0
trap 'rm -f /logs/verifier/reward.json; echo "$reward" >/logs/verifier/reward.txt' EXIT
fail() { echo "FAIL: $*"; exit; }

same() { [[ "$(stat -c %i "$1")" == "$(stat -c %i "$2")" ]]; }

plain_names() {
  mkdir -p t/a t/p t/z && cd t || return 1
  echo one >z/last; echo one >a-b; echo one >a/b; echo two >only; : >empty1; : >empty2
  echo one >.hidden; ln a-b already; ln -s a-b link; echo three >x.1; echo three >x_2
  echo four >p/q; echo four >p-q
  local kept before_slash
  before_slash=$(stat -c %i p-q)
  kept=$(stat -c %i .hidden)
  [[ "$(timeout 5 /app/dedupe.sh "$PWD")" == 6 ]] || return 1
  [[ "$(stat -c %i .hidden)" == "$kept" && "$(cat .hidden only x.1 | tr '\n' ' ')" == "one two three " ]] || return 1
  for path in z/last a-b a/b already; do same .hidden "$path" || return 1; done
  same p/q p-q && [[ "$(stat -c %i p/q)" == "$before_slash" ]] || return 1
  same x.1 x_2 && ! same empty1 empty2 && [[ -L link && ! -s empty1 ]] || return 1
  rm .hidden
  echo one >b
  [[ "$(timeout 5 /app/dedupe.sh "$PWD")" == 1 ]] && same a-b b
}

any_names() {
  mkdir -p "u/a  b" "u/-d" && cd u || return 1
  echo one >"a  b/c"; echo one >"-d/e"; echo one >$'new\nline'; echo one >'star *'; echo one >' lead'; echo one >'back\slash'
  echo two >'$(x)'; echo two >"it's"
  [[ "$(timeout 5 /app/dedupe.sh .)" == 6 ]] || return 1
  for path in "a  b/c" "-d/e" $'new\nline' 'star *' 'back\slash'; do
    same "./ lead" "./$path" && [[ "$(cat "./$path")" == one ]] || return 1
  done
  same '$(x)' "it's" && [[ "$(cat "it's")" == two ]]
}

[[ -x /app/dedupe.sh ]] || fail "/app/dedupe.sh is missing or not executable"
scratch=$(mktemp -d) && cd "$scratch" || fail "no scratch folder"
(plain_names) || fail "wrong on plain names"
reward=0.5
(cd "$scratch" && any_names) || fail "wrong on awkward names"
reward=1
