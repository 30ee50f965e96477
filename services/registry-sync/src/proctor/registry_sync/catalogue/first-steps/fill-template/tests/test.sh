#!/bin/bash
# Fills templates that the agent has not seen, with values that break naive substitution.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL=C
reward=0
trap 'printf "{\"reward\": %s}\n" "$reward" >/logs/verifier/reward.json' EXIT
fail() { echo "FAIL: $*"; exit; }

[[ -x /app/fill.sh ]] || fail "/app/fill.sh is missing or not executable"
scratch=$(mktemp -d) && cd "$scratch" || fail "no scratch folder"

expect() {  # NAME TEMPLATE VALUES WANT: WANT is the output with its exit status after it
  printf '%s' "$2" >template
  printf '%s' "$3" >values
  got=$(timeout 5 /app/fill.sh template values 2>stderr; echo "|$?")
  [[ "$got" == "$4" ]] || fail "$1: got '$got', want '$4'"
}

expect "plain" $'{{a}}-{{ b }}\n{{a}}\n' $'a=1\nb=two words\n' $'1-two words\n1\n|0'
expect "no newline at the end" $'x\n{{a}}' $'a=1' $'x\n1|0'
expect "blank lines at the end" $'{{a}}\n\n\n' $'a=1\n' $'1\n\n\n|0'
expect "special characters" '<{{a}}>' $'a=&\\1\\n/|#"\'*?[x]~ %s\n' $'<&\\1\\n/|#"\'*?[x]~ %s>|0'
expect "nothing is run" '{{a}}{{b}}' $'a=$(touch pwned)`touch pwned`\nb=$HOME;touch pwned\n' '$(touch pwned)`touch pwned`$HOME;touch pwned|0'
[[ ! -e pwned ]] || fail "a value was run"
expect "values are not filled" '{{a}} {{b}}' $'a={{b}}\nb={{a}}\n' '{{b}} {{a}}|0'
expect "equals signs, empty values" '[{{a}}][{{b}}]' $'a=x=y=\nb=\n' '[x=y=][]|0'
expect "spaces are kept" '[{{a}}]' $'a=  x\t \n' $'[  x\t ]|0'
expect "other braces" '{{}} {{ a b }} {{9}} {a} {{a}|{{-a}} }}{{ {{{a}}}' $'a=1\n' '{{}} {{ a b }} {{9}} {a} {{a}|{{-a}} }}{{ {1}|0'
expect "names are whole" '{{ab}}{{a}}{{a_1}}' $'a=1\nab=2\na_1=3\n' '213|0'
expect "template text is not run" $'$(touch pwned) `x` $HOME \\n %d & {{a}}\n' $'a=1\n' $'$(touch pwned) `x` $HOME \\n %d & 1\n|0'
[[ ! -e pwned ]] || fail "the template was run"
expect "no value" $'a\n{{a}} {{missing}}\n' $'a=1\n' "|3"
grep -q missing stderr || fail "the missing name is not on standard error"
reward=1
