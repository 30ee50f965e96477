#!/usr/bin/env bash
# Makes .env with the passwords that docker-compose.yml asks for; what is there stays. NAME=VALUE adds or replaces.
set -euo pipefail
cd "$(dirname "$0")/.."

umask 077
touch .env
put() { sed -i "/^$1=/d" .env && printf '%s=%s\n' "$1" "$2" >>.env; }
# begins with a letter: the bus takes digits for a number
for name in PROCTOR_NATS_PASSWORD PROCTOR_POSTGRES_PASSWORD; do
  grep -q "^$name=" .env || put "$name" "p$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')"
done
for pair in "$@"; do put "${pair%%=*}" "${pair#*=}"; done
