#!/bin/sh
# What a sweep costs beside simulating: 10,000 short points (scenarios/studies/bench_10k.json), then again with nothing
# left to do, then the first point of a shard of 100.  bench/sweep.sh [SIMSGD [DIR [POINTS]]]
# POINTS below 10,000 takes fewer seeds: a tenth of them in a tenth of the time.
set -eu
cd "$(dirname "$0")/.."
simsgd=${1:-build/release/simsgd}
dir=${2:-$(mktemp -d)}
points=${3:-10000}
study=scenarios/studies/bench_10k.json
seeds="--set /seeds=$((points / 1000))"
mkdir -p "$dir"
rm -rf "$dir"/bench.db* "$dir"/shard.db*

# Wall and CPU seconds of a command, whose output nobody reads.
timed() { { /usr/bin/time -f '%e %U %S' "$@" >/dev/null 2>"$dir/log"; } && tail -1 "$dir/log"; }

figure() { # name, times of timed, points
  echo "$2" | awk -v name="$1" -v points="$3" '{
    printf "%-34s %8.2f s wall %8.2f s CPU %9.2f points/s %7.2f ms CPU a point\n", name, $1, $2 + $3, points / $1,
           1000 * ($2 + $3) / points }'
}

figure "run $points points, 2 jobs" "$(timed "$simsgd" sweep run $study $seeds -o "$dir/bench.db" --jobs 2)" "$points"
figure "resume, nothing to do" "$(timed "$simsgd" sweep run $study $seeds -o "$dir/bench.db" --jobs 2)" "$points"
ls -l "$dir/bench.db" | awk -v points="$points" '{ printf "%-34s %8.1f MB %13.0f bytes a point\n", "store", $5 / 1e6, $5 / points }'

start=$(date +%s.%N)
"$simsgd" sweep run $study --shard 1/100 -o "$dir/shard.db" --jobs 2 >/dev/null 2>&1 &
shard=$!
until [ "$(cat "$dir"/shard.db.spool/*.jsonl 2>/dev/null | wc -l)" -ge 2 ]; do sleep 0.05; done
date +%s.%N | awk -v start="$start" '{ printf "%-34s %8.2f s\n", "first point of shard 1/100", $1 - start }'
wait $shard
