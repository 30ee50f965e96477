#!/bin/bash
set -euo pipefail
printf 'name: %s\nchannel: %s\nbuild: %d\n' "$RELEASE_NAME" "$RELEASE_CHANNEL" "$((10#$BUILD_NUMBER))" >release.txt
chmod 640 release.txt
