#!/bin/bash
# reward 0: special characters
cat >fill.sh <<'SCRIPT'
#!/bin/bash
program=
while IFS='=' read -r name value || [[ -n $name ]]; do program+="s/{{ *$name *}}/$value/g;"; done <"$2"
sed "$program" "$1"
SCRIPT
chmod +x fill.sh
