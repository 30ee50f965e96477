#!/bin/bash
# reward 0: a left-over PIDFILE
bash /solution/real.sh
sed -i 's/ && kill -0 "$other" 2>.dev.null//' job.sh
