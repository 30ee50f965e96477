#!/bin/bash
# reward 0: the process in watcher.pid isn't running
true &
echo $! >spool/watcher.pid
wait
