#!/bin/bash
# A Slurm of our own, for tests: munged, slurmctld and slurmd with their own ports and folders, started as root
# without systemd. Source it; `slurm_start DIR` ends with 77 where it cannot be, which CTest shows as skipped; what it
# started is ended when the shell exits, whatever happens.

slurm_skip() {
  echo "SKIPPED: $1"
  exit 77
}

slurm_pids=()

slurm_stop() {
  local pid
  scancel --full -u root >/dev/null 2>&1
  for pid in "${slurm_pids[@]}"; do kill "$pid" 2>/dev/null; done
  for pid in "${slurm_pids[@]}"; do
    for _ in $(seq 50); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
    kill -9 "$pid" 2>/dev/null
  done
}

# A port that nobody listens on.
slurm_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 10000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
  done
}

slurm_start() {
  local dir=$1 program host
  [ "$(id -u)" = 0 ] || slurm_skip "Slurm's daemons are started as root"
  for program in munged slurmctld slurmd sbatch squeue scancel; do
    command -v "$program" >/dev/null || slurm_skip "no $program (Debian: munge slurmctld slurmd slurm-client)"
  done
  host=$(hostname -s)
  mkdir -p "$dir"/{munge,state,spool}
  chmod 755 "$dir" "$dir/munge"
  dd if=/dev/urandom of="$dir/munge/key" bs=1024 count=1 status=none
  chmod 600 "$dir/munge/key"
  export SLURM_CONF="$dir/slurm.conf"
  cat >"$SLURM_CONF" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$dir/munge/socket
SlurmUser=root
SlurmctldPort=$(slurm_port)
SlurmdPort=$(slurm_port)
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
KillWait=2
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 RealMemory=1000
PartitionName=test Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
  trap slurm_stop EXIT
  trap 'exit 1' INT TERM
  munged --foreground --force --key-file="$dir/munge/key" --socket="$dir/munge/socket" --pid-file="$dir/munge/pid" \
    --log-file="$dir/munge/log" --seed-file="$dir/munge/seed" --num-threads=2 >"$dir/munged.out" 2>&1 &
  slurm_pids+=($!)
  for _ in $(seq 100); do [ -S "$dir/munge/socket" ] && break; sleep 0.1; done
  slurmctld -D >"$dir/slurmctld.out" 2>&1 &
  slurm_pids+=($!)
  slurmd -D >"$dir/slurmd.out" 2>&1 &
  slurm_pids+=($!)
  for _ in $(seq 200); do
    sinfo --noheader --format=%T 2>/dev/null | grep -q idle && return
    sleep 0.1
  done
  tail -n 20 "$dir"/*.log "$dir"/*.out >&2
  slurm_skip "Slurm's daemons do not come up here"
}
