#!/bin/bash
# reward 0.5: wrong on awkward names
cat >dedupe.sh <<'SCRIPT'
#!/bin/bash
declare -A kept
n=0
cd "$1"
while read path; do
  digest=$(sha256sum <$path | cut -c1-64)
  if [ -z ${kept[$digest]} ]; then
    kept[$digest]=$path
  elif ! [ $path -ef ${kept[$digest]} ]; then
    ln -f ${kept[$digest]} $path
    n=$((n + 1))
  fi
done < <(find . -type f -size +0 | LC_ALL=C sort)
echo $n
SCRIPT
chmod +x dedupe.sh
