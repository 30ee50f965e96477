#!/bin/bash
# reward 0: mode of /srv/release/release.txt is 644
printf 'name: %s\nchannel: %s\nbuild: 117\n' "$RELEASE_NAME" "$RELEASE_CHANNEL" >release.txt
chmod 644 release.txt
