#!/bin/bash
# Hands jobs to the service that the agent left running.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL=C
reward=0
trap 'rm -f /logs/verifier/reward.json; echo "$reward" >/logs/verifier/reward.txt' EXIT
fail() { echo "FAIL: $*"; exit; }

cd /app/spool || fail "/app/spool is missing"
[[ -f watcher.pid ]] && kill -0 "$(cat watcher.pid)" || fail "the process in watcher.pid isn't running"

drop() { printf "$2" >"in/.$$.part" && mv "in/.$$.part" "in/$1.job"; }
await() { for ((i = 0; i < 100; i++)); do [[ -e $1 && ! -e $2 ]] && return; sleep 0.02; done; fail "no $1, or $2 is still there"; }
sum() {  # NAME CONTENT SUM
  drop "$1" "$2"
  await "out/$1.sum" "in/$1.job"
  [[ "$(cat "out/$1.sum")" == "$3" ]] || fail "$1.sum has '$(cat "out/$1.sum")', want '$3'"
}
failed() {  # NAME CONTENT
  drop "$1" "$2"
  await "failed/$1.job" "in/$1.job"
  [[ ! -e "out/$1.sum" && "$(cat "failed/$1.job")" == "$(printf "$2")" ]] || fail "$1.job must be in failed/, unchanged"
}

printf '1\n' >in/note.txt
printf '1\n' >in/half.job.part
sum first '1\n2\n3\n' 6
sum "with space" '10\n\n-4' 6
sum "-dash" '010\n-008\n' 2
sum big '999999999\n999999999\n999999999\n' 2999999997
failed words '1\ntwo\n'
failed empty ''
failed blank '\n\n'
failed float '1.5\n'
failed trick 'a[$(touch /app/spool/pwned)]\n'
failed "bad  name" '1 2\n'
sum "*" '5\n' 5
sum last '7\n' 7
[[ -e in/note.txt && -e in/half.job.part && ! -e pwned ]] || fail "a file that is no job was touched, or a job was run"

for ((n = 1; n <= 20; n++)); do drop "many $n" "$n\n1\n"; done
for ((n = 1; n <= 20; n++)); do
  await "out/many $n.sum" "in/many $n.job"
  [[ "$(cat "out/many $n.sum")" == $((n + 1)) ]] || fail "many $n is wrong"
done
reward=1
