#!/bin/bash
set -euo pipefail
cp "$(dirname "$0")/serve.sh" /app/serve.sh
chmod +x /app/serve.sh
mkdir -p /app/run/replies
mkfifo /app/run/requests
LC_ALL=C setsid /app/serve.sh </dev/null >/dev/null 2>&1 &
