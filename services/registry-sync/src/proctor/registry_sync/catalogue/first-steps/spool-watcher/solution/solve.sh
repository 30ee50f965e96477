#!/bin/bash
set -euo pipefail
cp "$(dirname "$0")/watch.sh" /app/watch.sh
chmod +x /app/watch.sh
LC_ALL=C setsid /app/watch.sh </dev/null >/dev/null 2>&1 &
echo $! >/app/spool/watcher.pid
