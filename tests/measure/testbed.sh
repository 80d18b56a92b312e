#!/usr/bin/env bash
# testbed.sh TESTBED SIMSGD_MEASURE SIMSGD: the network is as fast as it says, and nothing is left of it, whoever is killed.
set -euo pipefail
readonly testbed=$1 measure=$2 simsgd=$3 name=test-$$
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

failures=0
fail() { printf 'FAILED: %s\n' "$*" && failures=$((failures + 1)); }
skip() { printf 'SKIPPED: %s\n' "$*" && exit 0; }
wait_for() {  # wait_for SECONDS COMMAND...: until it holds
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.1
  done
}
namespaces_gone() { [ "$(stat --format=%N /proc/[0-9]*/ns/net 2>/dev/null | grep -cF "$1" || true)" = 0 ]; }

if [ "$(id -u)" -ne 0 ]; then
  "$testbed" up 2 --name "$name" 2>/dev/null && fail "a testbed without root"
  skip "namespaces need root"
fi
for tool in ip tc nsenter setpriv mpirun; do command -v "$tool" >/dev/null || skip "no $tool"; done
unshare --net true 2>/dev/null || skip "no network namespaces in this container"
folder=$(mktemp -d)
trap '"$testbed" down --name "$name" 2>/dev/null; rm -rf "$folder"' EXIT

# What is wrong is said before anything is made.
for wrong in "" 1 9 "2 --rate fast" "2 --slow 2:1mbit" "2 --loss 0:100%" "2 --for 3h" "2 --name a/b" "2 --owner 0" "2 --packet 100"; do
  code=0
  "$testbed" up $wrong >"$folder/said" 2>&1 || code=$?
  [ "$code" = 2 ] || fail "up $wrong ends with $code: $(cat "$folder/said")"
done

# 1 MiB at 985 Mbit/s, headers of 66 in 1514 bytes: 8.9 ms, less what the two buckets of 16 kB let through at once. A busy
# machine takes longer, but not the 87 ms of 100 Mbit/s.
"$testbed" up 2 --name "$name" --for 60s 2>"$folder/said" || skip "$(cat "$folder/said")"
holder=$(awk 'NR == 1 {print $2}' "/run/simsgd-testbed/$name/ranks")
net=$(readlink "/proc/$holder/ns/net")
[ "$net" != "$(readlink /proc/self/ns/net)" ] || fail "a rank in our own namespace"
"$testbed" up 2 --name "$name" 2>/dev/null && fail "two testbeds of one name"
"$testbed" run -n 2 --name "$name" "$measure" network --min-bytes 1MiB --max-bytes 1MiB --samples 15 \
  -o "$folder/raw.csv" 2>"$folder/said" || fail "ping-pong: $(cat "$folder/said")"
best=$(awk -F, '$7 == "ping_pong" {if (!least || $13 < least) least = $13} END {print least}' "$folder/raw.csv")
awk -v best="$best" 'BEGIN {exit !(best >= 8.4e-3 && best <= 30e-3)}' || fail "1 MiB takes $best s"
"$simsgd" import "$folder/raw.csv" -o "$folder/data.csv" 2>/dev/null || fail "simsgd import does not read it"
[ "$(grep -c '^time_s,ping_pong,2,2,1048576,' "$folder/data.csv")" = 1 ] || fail "one median of a ping-pong of two nodes"
# Ranks of several hosts that share a core know it, or they would spin.
taskset -c 0 "$testbed" run -n 2 --name "$name" "$measure" run "$(dirname "$0")/../../scenarios/real_run.json" --set /stop/steps=2 \
  --set '/learner/data={"name": "gaussian_mixture", "features": 12, "classes": 4, "samples": 512, "test_samples": 64}' \
  >/dev/null 2>"$folder/said" || fail "a run on one core: $(cat "$folder/said")"
grep -q "2 ranks share 1 cores" "$folder/said" || fail "two ranks on a core do not know: $(cat "$folder/said")"
"$testbed" down --name "$name" || fail "down"
namespaces_gone "$net" || fail "down leaves a namespace"
[ ! -e "/run/simsgd-testbed/$name" ] || fail "down leaves files"

# Its user is killed while ranks run in it.
bash -c '"$1" up 2 --name "$2" --slow 1:100mbit --for 60s 2>/dev/null; "$1" run --name "$2" sleep 61 >/dev/null 2>&1 & sleep 30' \
  user "$testbed" "$name" &
user=$!
wait_for 20 test -e "/run/simsgd-testbed/$name/ready" || fail "no testbed"
holder=$(awk 'NR == 1 {print $2}' "/run/simsgd-testbed/$name/ranks")
net=$(readlink "/proc/$holder/ns/net")
sleep 0.5
kill -KILL "$user"
wait "$user" 2>/dev/null || true
wait_for 20 namespaces_gone "$net" || fail "a namespace outlives its user"
wait_for 20 test ! -e "/run/simsgd-testbed/$name" || fail "files outlive its user"

# The guardian itself is killed while ranks run: the kernel ends what holds the namespaces, and the watch the ranks.
"$testbed" up 2 --name "$name" --for 60s 2>/dev/null || fail "a third time"
holder=$(awk 'NR == 1 {print $2}' "/run/simsgd-testbed/$name/ranks")
net=$(readlink "/proc/$holder/ns/net")
guardian=$(cut -d: -f1 "/run/simsgd-testbed/$name/guardian")
"$testbed" run --name "$name" sleep 62 >/dev/null 2>&1 &
sleeps() { [ "$(stat --format=%N /proc/[0-9]*/ns/net 2>/dev/null | grep -cF "$net" || true)" -gt 1 ]; }
wait_for 20 sleeps || fail "no rank runs"
kill -KILL "$guardian"
wait_for 20 namespaces_gone "$net" || fail "a namespace outlives its guardian"
"$testbed" down --name "$name" || fail "down of what is left"
[ ! -e "/run/simsgd-testbed/$name" ] || fail "files outlive the guardian"

# Its time is over.
"$testbed" up 2 --name "$name" --owner none --for 1s 2>/dev/null || fail "a fourth time"
wait_for 20 test ! -e "/run/simsgd-testbed/$name" || fail "it outlives its time"
[ "$failures" = 0 ] && echo "passed"
exit "$((failures > 0))"
