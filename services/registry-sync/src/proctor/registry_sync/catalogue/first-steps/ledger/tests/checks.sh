# What the three steps share; each step's test.sh reads it from /tests.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL=C
reward=0
trap 'rm -f /logs/verifier/reward.json; echo "$reward" >/logs/verifier/reward.txt' EXIT
fail() { echo "FAIL: $*"; exit; }

scratch=$(mktemp -d) && cd "$scratch" || fail "no scratch folder"

balances() {  # WANT FILE...
  local want=$1 got
  shift
  [[ -x /app/balance.sh ]] || fail "/app/balance.sh is missing or not executable"
  got=$(timeout 5 /app/balance.sh "$@")
  [[ "$got" == "$want" ]] || fail "balance.sh $*: got '$got', want '$want'"
}

{
  printf '#2024-01-01 x y 5\n\n'
  for ((i = 0; i < 30; i++)); do printf '2024-02-%02d\tbank  Cash %s\n' $((i % 28 + 1)) "0.1"; done
  printf '2024-01-01 Cash bank 3\n'
  printf '2024-01-02 loan bank 1000000.07 7 50.00\n'
  printf '2024-01-03 food food 9.99\n'
} >hidden.journal
plain_balances=$'Cash 0.00\nbank 1000000.07\nfood 0.00\nloan -1000000.07'
