# What holds a testbed while it is there, and what both its guardian and measure/testbed know of it: read by measure/testbed.
# Namespaces have no names: processes hold them, which die with their guardian, which watches the owner. So nothing is
# left behind, whoever is killed.

# --- what both the caller and the guardian know of a testbed ----------------------------------------------------------

# The process with that id that runs now: ids are used again, start times are not. Empty where there is none.
identity() {
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
  set -- "$1" ${stat##*) }  # state is the first field after the name, the start time the 20th
  [ "$2" = Z ] || printf '%s:%s' "$1" "${21}"
}

lives() { [ -n "$1" ] && [ "$(identity "${1%%:*}")" = "$1" ]; }

guardian_of() { cat "$1/guardian" 2>/dev/null || true; }

# Everything that `run` and `exec` start is in one control group, which ends as a whole, whoever else was killed. Empty where this
# system has no control groups of version 2.
group_of() {
  local root
  root=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/mounts)
  [ -z "$root" ] || printf '%s/simsgd-testbed-%s' "$root" "${1##*/}"
}

join_group() {
  local group
  group=$(group_of "$1")
  [ ! -d "$group" ] || echo $$ >"$group/cgroup.procs" 2>/dev/null || true
}

end_group() {
  local group patience
  group=$(group_of "$1")
  [ -d "$group" ] || return 0
  echo 1 >"$group/cgroup.kill" 2>/dev/null || true
  for ((patience = 0; patience < 250; ++patience)); do
    rmdir "$group" 2>/dev/null && return 0  # not as before the trap that calls this
    sleep 0.02
  done
}

in_net() {  # in_net PID COMMAND...: in the network namespace of that process
  local pid=$1
  shift
  nsenter --net="/proc/$pid/ns/net" "$@"
}

# --- the guardian ------------------------------------------------------------------------------------------------------

hold() {  # hold FILE HOST: starts a process with a network and a host name of its own; its id goes to `held`
  setpriv --pdeathsig KILL unshare --net --uts bash -c 'hostname "$2" && ip link set lo up && : >"$1" && exec sleep infinity' \
    testbed "$1" "$2" </dev/null &
  held=$!
  local patience
  for ((patience = 0; patience < 500; ++patience)); do
    [ -e "$1" ] && return
    lives "$(identity "$held")" || break
    sleep 0.01
  done
  printf 'cannot make a network namespace: is this a container without the right to?\n' >&2
  return 1
}

# What passes at once is a bucket and one packet that finds it full: of 64 KiB and 16 kB at 1gbit (0.1 and 0.5 ms), at lower
# rates no longer. Shorter packets (`up --packet`) have a bucket of half a packet.
at_rate() {  # at_rate BYTES LEAST RATE_KBIT
  local bytes=$(($3 < 985000 ? $1 * $3 / 985000 : $1))
  echo $((bytes > $2 ? bytes : $2))
}

shape() {  # shape DEVICE RATE_KBIT PACKET: tc commands; 985 of 1000 bits are what Ethernet's framing leaves
  local burst
  burst=$(at_rate $(($3 < 32000 ? $3 / 2 : 16000)) 1600 "$2")
  printf 'qdisc replace dev %s root handle 1: htb default 1\n' "$1"
  printf 'class replace dev %s parent 1: classid 1:1 htb rate %dkbit ceil %dkbit burst %d cburst %d\n' "$1" "$2" "$2" "$burst" "$burst"
  printf 'qdisc replace dev %s parent 1:1 bfifo limit 1000000\n' "$1"
}

cable() {  # cable RANK PID RATE_KBIT PACKET: from the rank's eth0 to port p<rank> of the switch
  local rank=$1 pid=$2 rate=$3 packet=$4
  in_net "$switch" ip -batch - <<COMMANDS
link add p$rank type veth peer name eth0 netns $pid
link set p$rank master br0 up
COMMANDS
  # The system's default may be another congestion control, whose flows do not fill the link at once.
  in_net "$pid" ip -batch - <<COMMANDS
address add 10.77.0.$((rank + 1))/24 dev eth0
link set eth0 up
route replace 10.77.0.0/24 dev eth0 proto kernel scope link src 10.77.0.$((rank + 1)) congctl cubic
COMMANDS
  # The end of a message would wait until what it follows has left the queue, a millisecond here, microseconds at a NIC.
  in_net "$pid" sh -c 'echo 0 >/proc/sys/net/ipv4/tcp_autocorking' 2>/dev/null || true
  in_net "$pid" ip link set eth0 gso_max_size \
    "$([ "$rate" -lt 985000 ] && at_rate $((packet < 30000 ? packet : 30000)) 3000 "$rate" || echo "$packet")"
  shape "p$rank" "$rate" "$packet" | in_net "$switch" tc -batch -
  shape eth0 "$rate" "$packet" | in_net "$pid" tc -batch -
}

lossy() {  # lossy RANK PID PARTS_PER_MILLION
  # Packets of 64 KiB, which offloading makes, would be lost whole: on this cable they are cut before they are sent.
  in_net "$switch" ip link set "p$1" gso_max_segs 1
  in_net "$2" ip link set eth0 gso_max_segs 1
  in_net "$2" nft -f - <<RULES
table inet cable {
  chain in { type filter hook input priority 0; iifname "eth0" numgen random mod 1000000 < $3 drop; }
}
RULES
  in_net "$switch" nft -f - <<RULES
table bridge cable$1 {
  chain out { type filter hook forward priority 0; iifname "p$1" numgen random mod 1000000 < $3 drop; }
}
RULES
}

build() {  # reads the plan: a line for each rank, "RATE_KBIT LOSS_PPM PACKET"
  local rank=0 rate loss packet tag="tb$$"
  hold "$state/held.switch" "$tag-switch"
  switch=$held
  in_net "$switch" ip link add br0 type bridge stp_state 0 forward_delay 0 mcast_snooping 0
  in_net "$switch" ip link set br0 up
  while read -r rate loss packet; do
    hold "$state/held.$rank" "$tag-rank$rank"
    cable "$rank" "$held" "$rate" "$packet"
    [ "$loss" = 0 ] || lossy "$rank" "$held" "$loss"
    printf '%s %s %s 10.77.0.%s %s %s\n' "$rank" "$held" "$tag-rank$rank" $((rank + 1)) "$rate" "$loss" >>"$state/ranks"
    rank=$((rank + 1))
  done <"$state/plan"
  write_agent
}

write_agent() {  # what mpirun starts its daemon of another host with, in place of ssh
  mkdir "$state/tmp"
  cat >"$state/agent" <<AGENT
#!/bin/bash
while [ "\${1#-}" != "\$1" ]; do shift; done
host=\$1; shift
while read -r _ pid name _; do
  [ "\$name" != "\$host" ] || exec nsenter --net=/proc/\$pid/ns/net --uts=/proc/\$pid/ns/uts /bin/sh -c "\$*"
done <'$state/ranks'
echo "testbed: no rank is called \$host" >&2
exit 1
AGENT
  chmod +x "$state/agent"
}

take_down() {
  trap '' TERM INT HUP
  local pids='' namespaces='' entry pid
  pids=$(jobs -p)
  for pid in $pids; do namespaces+="$(readlink "/proc/$pid/ns/net") " || true; done
  # All that runs in the namespaces, and nothing else; twice, since it may be starting more.
  for _ in 1 2; do
    while read -r entry _ pid; do
      [[ $pid == *net:* && " $namespaces" == *" ${pid//\'/} "* && $pid != *"$own_net"* ]] || continue
      entry=${entry#/proc/}
      kill -KILL "${entry%%/*}" 2>/dev/null || true
    done < <(stat --format='%n %N' /proc/[0-9]*/ns/net 2>/dev/null | sed "s/ '[^']*' -> / -> /")
  done
  [ -z "$pids" ] || kill -KILL $pids 2>/dev/null || true
  wait 2>/dev/null || true
  end_group "$state"
  rm -rf "$state"
}

watch() {  # watch STATE GUARDIAN: ends what runs in the testbed when the guardian was killed
  while lives "$2"; do sleep 0.5; done
  [ "$(guardian_of "$1")" != "$2" ] || end_group "$1"
}

guard() {  # guard STATE OWNER SECONDS
  state=$1
  local owner=$2 seconds=$3 fd
  own_net=$(readlink /proc/self/ns/net)
  for fd in /proc/$$/fd/*; do  # a pipe that the caller reads to its end must not stay open
    fd=${fd##*/}
    [ "$fd" -le 2 ] || [ "$fd" = 255 ] || eval "exec $fd>&-"
  done
  cd /
  trap take_down EXIT
  trap 'exit 0' TERM INT HUP
  identity $$ >"$state/guardian"
  mkdir -p "$(group_of "$state")" 2>/dev/null || true
  setsid bash "$me" watch "$state" "$(identity $$)" &
  mkfifo "$state/bell"
  exec 8<>"$state/bell"
  if ! build; then
    touch "$state/failed"
    read -rt 5 -u 8 _ || true  # for the caller to read why
    exit 1
  fi
  touch "$state/ready"
  SECONDS=0
  while [ "$SECONDS" -lt "$seconds" ] && { [ "$owner" = none ] || lives "$owner"; }; do
    read -rt 0.5 -u 8 _ && break
  done
}
