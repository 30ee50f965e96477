#!/bin/bash
# Starts, collides, outlives and stops /app/job.sh.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL=C
reward=0
trap 'rm -f /logs/verifier/reward.json; echo "$reward" >/logs/verifier/reward.txt' EXIT
fail() { echo "FAIL: $*"; exit; }

[[ -x /app/job.sh ]] || fail "/app/job.sh is missing or not executable"
scratch=$(mktemp -d) && cd "$scratch" || fail "no scratch folder"
job() { timeout 5 /app/job.sh "$@"; }
until_true() { for ((i = 0; i < 250; i++)); do "$@" && return; sleep 0.02; done; return 1; }

ended() { ! kill -0 "$1" 2>/dev/null; }

job pid bash -c 'printf "%s|" "$@" >args; cat pid >seen; exit 7' _ "a  b" "" "*" '$x'
[[ $? == 7 ]] || fail "the exit status of COMMAND is lost"
[[ "$(cat args)" == 'a  b||*|$x|' ]] || fail "arguments are changed: $(cat args)"
[[ "$(cat seen)" =~ ^[1-9][0-9]*$ && ! -e pid ]] || fail "PIDFILE isn't kept during COMMAND, or is left behind"

/app/job.sh pid bash -c 'trap "sleep 0.1; echo cleaned >cleaned; exit" TERM; : >ready; while ((SECONDS < 20)); do sleep 0.02; done' &
running=$!
until_true test -e ready || fail "COMMAND doesn't run"
[[ "$(cat pid)" == "$running" ]] || fail "PIDFILE has '$(cat pid)', job.sh is $running"
job pid touch second
[[ $? == 75 && ! -e second && "$(cat pid)" == "$running" ]] || fail "a second run must exit 75 and change nothing"
job other touch third || fail "another PIDFILE is another job"
[[ -e third ]] || fail "another PIDFILE is another job"
kill -TERM "$running"
until_true ended "$running" || fail "SIGTERM doesn't end job.sh"
wait "$running"
[[ $? == 143 && -e cleaned && ! -e pid ]] || fail "SIGTERM: COMMAND must end first, PIDFILE go, status be 143"

sleep 0 &
gone=$!
wait "$gone"
for left in "$gone" "rubbish" ""; do
  echo "$left" >pid
  rm -f again
  job pid touch again || fail "a left-over PIDFILE ('$left') must be taken over"
  [[ -e again && ! -e pid ]] || fail "a left-over PIDFILE ('$left') must be taken over"
done

for n in 1 2 3 4 5 6; do
  (job crowd bash -c 'echo x >>ran; until [[ -e release ]] || ((SECONDS > 4)); do sleep 0.02; done'; echo $? >>ended) &
done
decided() { [[ -e ended && "$(wc -l <ended)" -ge 5 ]] || [[ -e ran && "$(wc -l <ran)" -ge 2 ]]; }
until_true decided
: >release
wait
[[ "$(wc -l <ran)" == 1 ]] || fail "$(wc -l <ran) of 6 started at the same moment ran"
[[ "$(sort ended | tr '\n' ' ')" == "0 75 75 75 75 75 " ]] || fail "6 started at the same moment ended with: $(sort ended | tr '\n' ' ')"
reward=1
