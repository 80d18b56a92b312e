#!/bin/bash
# A sweep as an array of Slurm: submitted, looked at, a task killed half-way, submitted again; the export is that
# of one process, byte for byte.
# usage: sweep.sh SIMSGD
set -u
simsgd=$(realpath "$1")
. "$(dirname "$0")/slurm.sh"
dir=$(mktemp -d)
slurm_start "$dir/slurm"
trap 'slurm_stop; rm -rf "$dir"' EXIT
cd "$dir" || exit 1

fail() {
  echo "FAILED: $1"
  "$simsgd" sweep status f.db
  squeue
  tail -n 5 f.db.slurm/*.log
  exit 1
}
# Until a command succeeds, at most 60 s.
until_true() {
  for _ in $(seq 600); do
    "$@" && return
    sleep 0.1
  done
  fail "waited in vain for: $*"
}
queue_empty() { [ -z "$(squeue --noheader)" ]; }
state() { "$simsgd" sweep status f.db --json | grep -o "\"$1\":\[[^]]*\]" | head -1; }
some_but_not_all() { # of the 12 points; the last one takes seconds, the others milliseconds
  local runs
  runs=$(cat f.db.spool/*.jsonl 2>/dev/null | grep -c '^{"run"')
  [ "$runs" -ge 1 ] && [ "$runs" -le 11 ]
}

cat >study.json <<'JSON'
{
  "name": "on Slurm",
  "cluster": {"use": "clusters/ethernet-1g.json", "workers": 4},
  "workload": {"use": "workloads/resnet20.json", "batch": 32},
  "algorithm": {"name": "allreduce_sgd"},
  "stragglers": [{"name": "lognormal", "mean": "10 ms", "sigma": 0.8}],
  "network": {"fidelity": "messages"},
  "stop": {"steps": 5},
  "axes": [{"pointer": "/stop/steps", "values": [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 300000]}],
  "seeds": [1]
}
JSON

# What Slurm refuses leaves nothing behind.
"$simsgd" sweep submit study.json -o f.db --slurm "-p nowhere" --tasks 2 --estimate 0 2>err.txt
[ $? = 2 ] || fail "a partition that does not exist is a wrong option"
grep -q '^sbatch: refused the array' err.txt || fail "sbatch's refusal is told: $(cat err.txt)"
[ ! -e f.db.slurm ] && [ ! -e f.db ] || fail "a refused submission leaves nothing"

"$simsgd" sweep submit study.json -o f.db --slurm "-p test" --tasks 2 --estimate 1 >submitted.txt || fail "submit"
grep -q '12 points, 0 done, 0 in the queue or running, 12 to submit' submitted.txt || fail "$(cat submitted.txt)"
job=$(sed -n 's/.* as job \([0-9]*\), 2 tasks.*/\1/p' submitted.txt)
[ -n "$job" ] || fail "$(cat submitted.txt)"

# Again, while it waits or runs: nothing to submit.
"$simsgd" sweep submit study.json -o f.db --slurm "-p test" --tasks 2 >again.txt || fail "submit again"
grep -q ' 0 to submit$' again.txt || fail "$(cat again.txt)"

# Tasks are killed half-way, as a machine that fails would: no signal that could be caught.
until_true some_but_not_all
[ "$(state running)" != '"running":[]' ] || fail "tasks that run are seen"
kill -9 $(scontrol listpids | awk 'NR > 1 && $1 > 0 { print $1 }')
scancel "$job"
until_true queue_empty
[ "$(state missing)" != '"missing":[]' ] || fail "killed half-way, points are missing"
[ "$(state done)" != '"done":[]' ] || fail "killed half-way, points are done"

"$simsgd" sweep submit study.json -o f.db --slurm "-p test" --tasks 3 --estimate 0 >third.txt || fail "submit what is missing"
grep -Eq '12 points, ([1-9]|10|11) done, 0 in the queue or running, ([1-9]|10|11) to submit' third.txt ||
  fail "$(cat third.txt)"
until_true queue_empty
[ "$(state done)" = '"done":[1,2,3,4,5,6,7,8,9,10,11,12]' ] || fail "all are done: $(state done)"
"$simsgd" sweep submit study.json -o f.db --slurm "-p test" >merged.txt || fail "merge"
[ -e f.db ] && [ ! -e f.db.spool ] || fail "what is done is merged"

"$simsgd" sweep run study.json -o f.db >/dev/null 2>told.txt
grep -q '12 of 12 points are already in f.db' told.txt || fail "$(cat told.txt)"
"$simsgd" sweep run study.json -o one.db >/dev/null 2>&1 || fail "one process"
"$simsgd" results export one.db >one.txt && "$simsgd" results export f.db >slurm.txt || fail "export"
[ "$(grep -c '"status":"ok"' one.txt)" = 12 ] || fail "twelve results"
cmp one.txt slurm.txt || fail "the same results as of one process"

# Seeds until it is certain: each combination is one task's, which decides how many.
sed -e 's/"seeds": .*/"seeds": {"at_least": 3, "at_most": 20, "until": {"metric": "throughput_samples_per_s", "half_width": "2 %"}}/' \
  -e 's|"axes": .*|"axes": [{"pointer": "/cluster/workers", "values": [4, 8, 16]}],|' study.json >until.json
"$simsgd" sweep submit until.json -o u.db --slurm "-p test" --tasks 2 --estimate 0 >until.txt || fail "submit until"
grep -q '60 points, 0 done, 0 in the queue or running, 9 to submit, up to 51 more seeds if needed' until.txt ||
  fail "$(cat until.txt)"
until_true queue_empty
"$simsgd" sweep submit until.json -o u.db --slurm "-p test" >merged.txt || fail "merge until"
grep -q ' 0 to submit' merged.txt || fail "the tasks decided: $(cat merged.txt)"
"$simsgd" sweep run until.json -o v.db >/dev/null 2>&1 || fail "one process"
"$simsgd" results export v.db >one.txt && "$simsgd" results export u.db >slurm.txt || fail "export"
[ "$(grep -c '"status":"ok"' one.txt)" -gt 9 ] || fail "more seeds than the least"
cmp one.txt slurm.txt || fail "the same seeds as in one process"
echo "OK"
