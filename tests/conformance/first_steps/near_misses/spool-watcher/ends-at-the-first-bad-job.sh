#!/bin/bash
# reward 0: no failed/words.job
cat >watch.sh <<'SCRIPT'
#!/bin/bash
set -e
cd /app/spool
while sleep 0.03; do
  for job in in/*.job; do
    [[ -e $job ]] || continue
    name=${job#in/}
    sum=0
    while read -r number || [[ -n $number ]]; do
      [[ -n $number ]] || continue
      [[ $number =~ ^(-?)([0-9]+)$ ]]
      sum=$((sum + ${BASH_REMATCH[1]}10#${BASH_REMATCH[2]}))
    done <"$job"
    echo "$sum" >"out/${name%.job}.sum"
    rm "$job"
  done
done
SCRIPT
chmod +x watch.sh
setsid ./watch.sh </dev/null >/dev/null 2>&1 &
echo $! >spool/watcher.pid
