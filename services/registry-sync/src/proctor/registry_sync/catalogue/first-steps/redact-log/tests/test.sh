#!/bin/bash
# Three shares of right lines, one for each kind; the reward is the lowest, so that `cat` earns nothing.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL=C

declare -A right=([email]=0 [ip]=0 [untouched]=0) total=([email]=0 [ip]=0 [untouched]=0)
while IFS='|' read -r kind before after; do
  got=$(printf '%s\n' "$before" | timeout 5 /app/redact.sh 2>/dev/null)
  total[$kind]=$((total[$kind] + 1))
  if [[ "$got" == "$after" ]]; then
    right[$kind]=$((right[$kind] + 1))
  else
    echo "FAIL: '$before' became '$got', want '$after'"
  fi
done </tests/lines.txt

share() { awk -v a="${right[$1]}" -v b="${total[$1]}" 'BEGIN { printf "%.3f", a / b }'; }
email=$(share email)
ip=$(share ip)
untouched=$(share untouched)
reward=$(printf '%s\n' "$email" "$ip" "$untouched" | sort -n | head -n 1)
printf '{"reward": %s, "email": %s, "ip": %s, "untouched": %s}\n' "$reward" "$email" "$ip" "$untouched" \
  >/logs/verifier/reward.json
