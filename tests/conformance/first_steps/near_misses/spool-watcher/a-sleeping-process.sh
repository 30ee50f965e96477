#!/bin/bash
# reward 0: no out/first.sum
setsid sleep 30 </dev/null >/dev/null 2>&1 &
echo $! >spool/watcher.pid
