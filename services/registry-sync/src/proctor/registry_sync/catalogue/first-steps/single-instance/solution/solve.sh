#!/bin/bash
set -euo pipefail
cat >/app/job.sh <<'SCRIPT'
#!/bin/bash
pidfile=$1
shift
mine=$pidfile.$$
echo $$ >"$mine"
trap 'rm -f "$mine"' EXIT
# a link appears at once and with its content; only one can be the first
if ! ln "$mine" "$pidfile" 2>/dev/null; then
  other=$(cat "$pidfile" 2>/dev/null)
  if [[ $other =~ ^[1-9][0-9]*$ ]] && kill -0 "$other" 2>/dev/null; then
    echo "job.sh: already running as $other" >&2
    exit 75
  fi
  mv -f "$mine" "$pidfile"
fi
trap 'rm -f "$mine" "$pidfile"' EXIT

stopped=
trap 'stopped=1; [[ -n ${child-} ]] && kill -TERM "$child" 2>/dev/null' TERM
"$@" &
child=$!
[[ -n $stopped ]] && kill -TERM "$child" 2>/dev/null
wait "$child"
status=$?
while kill -0 "$child" 2>/dev/null; do
  wait "$child"
  status=$?
done
[[ -n $stopped ]] && exit 143
exit "$status"
SCRIPT
chmod +x /app/job.sh
