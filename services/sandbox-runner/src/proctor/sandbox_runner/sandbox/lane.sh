# One lane: reads framed requests on stdin, answers with single lines on stdout (wire.py has the vocabulary).
# The outer loop only uses builtins once it runs, so that kill and quiesce work when no process can be forked;
# a worker does the forking. Every command carries its number as its hard limit of POSIX message queue bytes
# (top - number): inherited through setsid, double forks and `env -i`, and nothing in a sandbox can raise it.
[[ -v LC_ALL ]] && outer_lc=$LC_ALL
LC_ALL=C
IFS=$' \t\n'
root=/run/proctor dir=/run/proctor/lane.$$
width=3900
[[ $MACHTYPE == *musl* ]] && width=900 # a line must leave in one write(), and musl buffers 1 KiB
set -m # without job control bash makes background commands ignore SIGINT
trap : PIPE

examine() { # pid -> state, start, hard; fails when the process is gone
  local text
  { IFS= read -r -N 1024 text <"/proc/$1/stat"; } 2>/dev/null
  [[ $text ]] || return 1
  set -- "$1" ${text##*) }
  state=$2 start=${21}
  { IFS= read -r -N 4096 text <"/proc/$1/limits"; } 2>/dev/null
  [[ $text == *"msgqueue size"* ]] || return 1
  set -- ${text#*msgqueue size}
  hard=$2
}

each_process() { # action: calls it with pid, start, hard of every process that isn't a zombie, PID 1 or this loop
  local path pid state start hard
  for path in /proc/[0-9]*; do
    pid=${path#/proc/}
    (( pid == 1 || pid == $$ )) || ! examine "$pid" || [[ $state == [ZX] ]] || "$@"
  done
}

is_tagged() { [[ $hard == "$wanted" ]]; }
is_newcomer() { [[ $hard != "$top" && ! -v 'baseline[$pid:$start]' ]]; }

halt_if() {
  [[ -v 'halted[$pid]' ]] || ! "$1" || { kill -STOP "$pid" && halted[$pid]=1 fresh=1; } 2>/dev/null
}

slay() { # predicate -> total; stops all before it kills any, so that none can fork away
  local -A halted
  local fresh until=$((SECONDS + 10))
  total=0
  while :; do
    halted=() fresh=1
    while ((fresh && SECONDS < until)); do
      fresh=0
      each_process halt_if "$1"
    done
    ((${#halted[@]})) || return 0
    kill -KILL "${!halted[@]}" 2>/dev/null
    total=$((total + ${#halted[@]}))
    ((SECONDS < until)) || return 0
    read -r -t 0.001 -u 9
  done
}

report_process() {
  entries+=" $pid:$start:$hard"
  ((${#entries} < 800)) || { printf 'procs %s%s\n' "$id" "$entries"; entries=; }
}

close_from_3() {
  local fd
  for fd in /proc/self/fd/*; do
    fd=${fd##*/}
    ((fd < 3)) || eval "exec $fd>&-"
  done
}

drain() { # file, KiB: keeps the first KiB, reads and drops the rest
  ulimit -f "$2"
  trap '' XFSZ
  exec tee "$1" >/dev/null 2>&1 9>&-
}

settled() { # pid of a drain, if there is one: it ended, or sleeps because its pipe is empty
  local text
  [[ $1 ]] || return 0
  { IFS= read -r -N 1024 text <"/proc/$1/stat"; } 2>/dev/null
  [[ ! $text || ${text##*) } == [SZXT]* ]]
}

send() { # letter, number, file
  local line
  [[ -s $3 ]] || return 0
  for line in $(base64 -w "$width" "$3"); do
    printf '%s %s %s\n' "$1" "$2" "$line"
  done
}

job() { # number, KiB of output to keep or "all" for code that bounds its own, code
  local id=$1 out= err= rc tries file
  set -m
  printf '%s\n' "$BASHPID" >"$dir/$id.pid"
  case $2 in # two drains cost as much as all the rest of a short command
    0) exec 3>/dev/null 4>&3 ;;
    all) exec 3>"$dir/$id.out" 4>"$dir/$id.err" ;;
    *)
      exec 3> >(drain "$dir/$id.out" "$2")
      out=$!
      exec 4> >(exec 3>&-; drain "$dir/$id.err" "$2")
      err=$!
      ;;
  esac
  (
    ulimit -q $((top - id))
    printf 500 >/proc/self/oom_score_adj
    [[ -e $root/dead.$id ]] && exit 137
    if [[ -v outer_lc ]]; then LC_ALL=$outer_lc; else unset LC_ALL; fi
    close_from_3
    [[ -r $root/env ]] && . "$root/env"
    eval "$3"
  ) >&3 2>&4
  rc=$?
  exec 3>&- 4>&-
  # A service the command left behind may hold the pipes open: what it writes later isn't waited for.
  for ((tries = 0; tries < 5000; tries++)); do
    settled "$out" && settled "$err" && break
    read -r -t 0.001 -u 9
  done
  send o "$id" "$dir/$id.out"
  send e "$id" "$dir/$id.err"
  printf 'done %s %s\n' "$id" "$rc"
  for file in "$dir/$id".{out,err,in,code,sh}; do
    [[ -s $file ]] && : >"$file"
  done
  printf '%s\n' "$id" >>"$dir/ended"
}

tidy() { # now and then, since an rm costs a fifth of a command
  local ended
  mapfile -t ended <"$dir/ended"
  : >"$dir/ended"
  rm -f "${ended[@]/#/$root/dead.}" "${ended[@]/%/.pid}" "${ended[@]/%/.out}" "${ended[@]/%/.err}" \
    "${ended[@]/%/.in}" "${ended[@]/%/.code}" "${ended[@]/%/.sh}"
}

work() {
  local op id size rest body runs=0
  set -m
  cd "$dir"
  while read -r op id size rest; do
    body=
    ((size)) && IFS= read -r -N "$size" body
    printf 'ok %s\n' "$id"
    case $op in
      put) printf %s "$body" >>"$dir/$rest" ;;
      run)
        job "$id" "$rest" "$body" </dev/null 2>/dev/null &
        ((++runs % 50)) || tidy
        ;;
    esac
  done
}

start_worker() {
  exec 7>&-
  exec 7> >(work)
  worker=$!
}

exec 9<> <(:) # never readable: `read -t` on it sleeps without a fork
[[ -d $dir ]] || mkdir -p -m 700 "$dir"
: >"$dir/ended"
examine $$ || exit 1
top=$hard
[[ $top == unlimited ]] && top=819200
ulimit -q "$top"
start_worker
while read -r op id size rest; do
  body=
  ((size)) && IFS= read -r -N "$size" body
  case $op in
    hello)
      while [[ $$ != 1 && ! -e $root/ready ]]; do read -r -t 0.001 -u 9; done
      printf 'ready %s %s\n' "$id" "$top"
      ;;
    put | run)
      kill -0 "$worker" 2>/dev/null || start_worker
      printf '%s %s %s %s\n%s' "$op" "$id" "$size" "$rest" "$body" >&7
      ;;
    check)
      pid=
      [[ -r $dir/$rest.pid ]] && read -r pid <"$dir/$rest.pid"
      kill -0 "${pid:-$worker}" 2>/dev/null && pid=alive || pid=gone
      printf '%s %s\n' "$pid" "$id"
      ;;
    kill)
      : >"$root/dead.$rest"
      wanted=$((top - rest))
      slay is_tagged
      printf 'killed %s %s\n' "$id" "$total"
      ;;
    snapshot)
      entries=
      each_process report_process
      printf 'procs %s%s\n' "$id" "$entries"
      printf 'end %s\n' "$id"
      ;;
    quiesce)
      declare -A baseline=()
      for pid in $body; do baseline[$pid]=1; done
      slay is_newcomer
      printf 'killed %s %s\n' "$id" "$total"
      ;;
  esac
done
