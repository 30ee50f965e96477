#!/bin/bash
# Packs two trees that are equal in all that counts and differ in all that does not.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL=C
reward=0
trap 'rm -f /logs/verifier/reward.json; echo "$reward" >/logs/verifier/reward.txt' EXIT
fail() { echo "FAIL: $*"; exit; }

pack() { timeout 5 /app/pack.sh "$@"; }
digest() { sha256sum <"$1"; }

[[ -x /app/pack.sh ]] || fail "/app/pack.sh is missing or not executable"
scratch=$(mktemp -d) && cd "$scratch" || fail "no scratch folder"
umask 022

plant() {  # ROOT TIME NAME...: makes the same tree, its files in the order of the names
  local root=$1 time=$2 name
  shift 2
  mkdir -p "$root/docs/deep" "$root/empty" "$root/cache.tmp"
  for name in "$@"; do echo "content of $name" >"$root/$name"; done
  chmod 755 "$root/run me.sh"
  chmod 600 "$root/docs/B.txt"
  ln -s "docs/B.txt" "$root/link"
  echo "$time" >"$root/cache.tmp/x"
  echo "$time" >"$root/docs/y.tmp"
  touch -h -d "$time" "$root"/* "$root"/docs/*
}
plant "one" "2001-02-03 04:05:06 UTC" "run me.sh" "docs/B.txt" "docs/a.txt" "docs/deep/.hidden" "tmp"
plant "other place" "2020-11-12 13:14:15 UTC" "tmp" "docs/deep/.hidden" "docs/a.txt" "docs/B.txt" "run me.sh"

TZ=UTC pack one first.tar.gz || fail "exit status $?"
mkdir -p "out dir"
(cd "out dir" && umask 077 && TZ=Asia/Tokyo LC_ALL=C.UTF-8 pack "$scratch/other place/" "second one.tar.gz") || fail "exit status $?"
[[ -f first.tar.gz && -f "out dir/second one.tar.gz" ]] || fail "an archive is missing"
[[ "$(digest first.tar.gz)" == "$(digest "out dir/second one.tar.gz")" ]] || fail "equal folders, different archives"

mkdir got
tar -xzf first.tar.gz -C got || fail "not a gzip-compressed tar archive"
for name in "run me.sh" docs/B.txt docs/a.txt docs/deep/.hidden tmp; do
  [[ "$(cat "got/$name")" == "content of $name" ]] || fail "lost: $name"
done
[[ "$(stat -c %a "got/run me.sh" got/docs/B.txt | tr '\n' ' ')" == "755 600 " ]] || fail "permissions are lost"
[[ -L got/link && "$(readlink got/link)" == docs/B.txt ]] || fail "the link is lost"
[[ -d got/empty ]] || fail "the empty folder is lost"
[[ ! -e got/cache.tmp && ! -e got/docs/y.tmp ]] || fail "a .tmp is in the archive"

echo changed >one/docs/a.txt
pack one third.tar.gz || fail "exit status $?"
[[ "$(digest first.tar.gz)" != "$(digest third.tar.gz)" ]] || fail "different folders, equal archives"

pack missing fourth.tar.gz 2>/dev/null
[[ $? == 2 && ! -e fourth.tar.gz ]] || fail "a missing SOURCE must give status 2 and no archive"
reward=1
