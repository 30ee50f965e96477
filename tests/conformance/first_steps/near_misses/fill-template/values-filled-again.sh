#!/bin/bash
# reward 0: values are not filled
cat >fill.sh <<'SCRIPT'
#!/bin/bash
text=$(cat "$1"; printf x)
text=${text%x}
while IFS= read -r line || [[ -n $line ]]; do
  name=${line%%=*}
  text=${text//"{{$name}}"/"${line#*=}"}
  text=${text//"{{ $name }}"/"${line#*=}"}
done <"$2"
printf %s "$text"
SCRIPT
chmod +x fill.sh
