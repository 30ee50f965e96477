#!/bin/bash
# Makes the cluster and the database once, then becomes the server.
set -euo pipefail

if [[ ! -s $PGDATA/PG_VERSION ]]; then
  initdb --pgdata "$PGDATA" --username "$POSTGRES_USER" --pwfile <(printf '%s' "$POSTGRES_PASSWORD") \
    --auth-local trust --auth-host scram-sha-256 --encoding UTF8 --locale C >/dev/null
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  echo "CREATE DATABASE \"$POSTGRES_DB\"" | postgres --single -D "$PGDATA" postgres >/dev/null
fi
exec "$@" -c listen_addresses='*' -c unix_socket_directories=/tmp
