#!/bin/sh
# A real step of 4 ranks on this machine (scenarios/real_run.json: 50,890 parameters) over what simulating one takes, the same
# computing included.  bench/real_step.sh [BUILD [STEPS]]
set -eu
cd "$(dirname "$0")/.."
build=${1:-build/release}
steps=${2:-1000}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# CPU seconds of the simulation of so many steps, on one thread.
simulated() {
  /usr/bin/time -f '%U %S' "$build/simsgd" run scenarios/real_run.json --set /cluster/workers=4 --threads 1 \
    --set "/stop/steps=$1" --json 2>"$log" >/dev/null && tail -1 "$log" | awk '{ print $1 + $2 }'
}
metric() { sed -n "s/.*\"$1\":\([0-9.e+-]*\).*/\1/p"; }

short=$(simulated 1)
long=$(simulated "$((steps + 1))")
mpirun --oversubscribe --bind-to none -n 4 "$build/simsgd-measure" run scenarios/real_run.json --set "/stop/steps=$steps" \
  --json 2>"$log.err" >"$log"
grep -i doubtful "$log.err" || true
rm -f "$log.err"
mean=$(metric iteration_time_mean_s <"$log")
median=$(metric iteration_time_p50_s <"$log")
echo "$short $long $steps $mean $median" | awk '{
  step = ($2 - $1) / $3
  printf "real step: median %.3f ms, mean %.3f ms; simulated: %.3f ms of CPU; ratio %.2f (median), %.2f (mean)\n",
         1e3 * $5, 1e3 * $4, 1e3 * step, $5 / step, $4 / step }'
