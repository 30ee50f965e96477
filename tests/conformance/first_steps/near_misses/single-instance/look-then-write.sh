#!/bin/bash
# reward 0: of 6 started at the same moment ran
cat >job.sh <<'SCRIPT'
#!/bin/bash
pidfile=$1
shift
if [[ -e $pidfile ]] && kill -0 "$(cat "$pidfile")" 2>/dev/null; then exit 75; fi
sleep 0.1
echo $$ >"$pidfile"
"$@" &
child=$!
trap 'kill $child; wait $child; rm "$pidfile"; exit 143' TERM
wait $child
status=$?
rm -f "$pidfile"
exit $status
SCRIPT
chmod +x job.sh
