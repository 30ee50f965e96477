#!/bin/bash
# reward 0: SIGTERM: COMMAND must end first
bash /solution/real.sh
sed -i "s/^trap 'stopped.*/trap 'rm \"\$pidfile\"; exit 143' TERM/" job.sh
