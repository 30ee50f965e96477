#!/bin/bash
# reward 0: CR LF and spaces
cat >merge.sh <<'SCRIPT'
#!/bin/bash
export LC_ALL=C
awk '{ sub(/\r$/, ""); print }' "$@" | awk -F '[ \t]*=[ \t]*' '
  /^[ \t]*#/ || NF < 2 { next }
  { sub(/^[ \t]+/, "", $1); if ($1 != "") values[$1] = $2 }
  END { for (key in values) if (values[key] != "") print key "=" values[key] }
' | sort
SCRIPT
chmod +x merge.sh
