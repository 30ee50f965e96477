#!/usr/bin/env bash
# Brings what the tests need and this machine lacks, where that is allowed: as root on Debian a Docker engine and the
# base image. Elsewhere it changes nothing and says what is missing; the tests that need it are then left out.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")

lacking() { echo "test host: $*; the tests that need a Docker engine will be left out" >&2; exit 0; }

engine() { timeout 10 docker version >/dev/null 2>&1; }

if ! engine; then
  [[ $EUID == 0 ]] || lacking "no Docker engine answers for $(id -un): install one and join the group docker"
  if ! command -v dockerd >/dev/null; then
    command -v apt-get >/dev/null || lacking "no Docker engine, and this is not Debian: install Docker"
    echo "test host: installing docker.io"
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends docker.io; } >/dev/null 2>&1 ||
      lacking "docker.io could not be installed"
  fi
  echo "test host: starting dockerd"
  # one that was killed leaves its pid files, and other processes may have those numbers by now
  ps -C dockerd -o stat= 2>/dev/null | grep -qv Z ||
    rm -f /var/run/docker.pid /var/run/docker/containerd/containerd.pid /var/run/docker/containerd/*.sock*
  setsid nohup dockerd >"${TMPDIR:-/tmp}/proctor-dockerd.log" 2>&1 </dev/null &
  for _ in {1..100}; do engine && break; sleep 0.2; done
  engine || lacking "dockerd did not start; see ${TMPDIR:-/tmp}/proctor-dockerd.log"
fi

image=${BASE_IMAGE:-debian:bookworm-slim}
if ! docker image inspect "$image" >/dev/null 2>&1 && [[ $EUID == 0 ]] && command -v apt-get >/dev/null &&
  ! command -v mmdebstrap >/dev/null; then
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends mmdebstrap; } >/dev/null 2>&1 || true
fi
"$here/base-image.sh" || lacking "the image $image could not be had"
