# Stands in for python:3.13-slim: Debian, and the Python 3.13 that images.sh puts beside this file.
FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates libbz2-1.0 libffi8 liblzma5 libreadline8 libsqlite3-0 \
    libssl3 libuuid1 zlib1g \
 && rm -rf /var/lib/apt/lists/*
ADD python.tar /usr/local/
RUN ldconfig && ln -sf python3.13 /usr/local/bin/python3 && ln -sf python3.13 /usr/local/bin/python \
 && python -m ensurepip --upgrade --default-pip >/dev/null \
 && python -c 'import bz2, ctypes, lzma, readline, sqlite3, ssl, uuid, zlib'
