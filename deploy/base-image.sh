#!/usr/bin/env bash
# Makes sure that the image debian:bookworm-slim (or BASE_IMAGE) is at the Docker engine: it is there, or is pulled,
# or is made from Debian's packages where no registry can be reached.
set -euo pipefail

image=${BASE_IMAGE:-debian:bookworm-slim}
pull_seconds=${PULL_SECONDS:-8}

if docker image inspect "$image" >/dev/null 2>&1; then
  echo "$image is there"
  exit 0
fi
if ! docker version >/dev/null 2>&1; then
  echo "no Docker engine answers: start it, or name it in DOCKER_HOST" >&2
  exit 1
fi
if timeout "$pull_seconds" docker pull -q "$image" >/dev/null 2>&1; then
  echo "$image pulled"
  exit 0
fi
if ! command -v mmdebstrap >/dev/null; then
  echo "$image can't be pulled within $pull_seconds s and mmdebstrap is missing: apt-get install mmdebstrap" >&2
  exit 1
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mmdebstrap --quiet --variant=apt \
  --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
  bookworm "$folder/root.tar"
docker import --change 'CMD ["bash"]' "$folder/root.tar" "$image" >/dev/null
echo "$image made from Debian's packages"
