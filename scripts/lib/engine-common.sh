# shellcheck shell=bash
# What all private engines share: where their things are, which processes are theirs, and how they are taken down.
# Needs common.sh.

# Short, since the path of a unix socket is limited to 107 bytes.
ENGINE_RUN=${OSBX_ENGINE_RUN:-/run/osbx-engine}
ENGINE_DATA=${OSBX_ENGINE_DATA:-/var/lib/osbx-engine}

# Folders of ENGINE_DATA that are no engine.
RESERVED_NAMES=' runsc images '

check_name() {
  [[ $1 =~ ^[a-z0-9][a-z0-9-]{0,19}$ ]] || die "an engine's name is 1 to 20 of a-z, 0-9 and -, not '$1'"
  [[ $RESERVED_NAMES != *" $1 "* ]] || die "'$1' is reserved"
}

run_dir() { printf '%s/%s' "$ENGINE_RUN" "$1"; }
data_dir() { printf '%s/%s' "$ENGINE_DATA" "$1"; }
engine_socket() { printf '%s/docker.sock' "$(run_dir "$1")"; }

# Facts that `up` writes down and the other commands read: kind, options, runtimes, host, version.
put_fact() { printf '%s\n' "$3" >"$(run_dir "$1")/$2"; }
fact() { cat "$(run_dir "$1")/$2" 2>/dev/null || true; }

engine_names() {
  local dir name
  for dir in "$ENGINE_RUN"/*/ "$ENGINE_DATA"/*/; do
    [ -d "$dir" ] || continue
    name=$(basename "$dir")
    [[ $RESERVED_NAMES == *" $name "* ]] || printf '%s\n' "$name"
  done | sort -u
}

ping_engine() {
  [ -S "$(engine_socket "$1")" ] &&
    curl -sf --noproxy '*' --max-time 5 -o /dev/null --unix-socket "$(engine_socket "$1")" http://localhost/_ping
}

# `ready` is written last by `up`: an engine that is only starting does not count.
engine_running() { [ -e "$(run_dir "$1")/ready" ] && ping_engine "$1"; }

# Other roots (containers, pivot_root trees) can show their processes here, with the very same paths on their command
# lines. Only those that live in our root are ours.
same_root() { [ "/proc/$1/root" -ef / ]; }

cmdline_of() {
  local -a args=()
  { mapfile -d '' -t args <"/proc/$1/cmdline"; } 2>/dev/null || return 1
  printf '%s' "${args[*]}"
}

# A zombie counts as gone, since the PID 1 of a container may never collect it. (An empty command line is no sign of
# one: a process in the middle of an exec has none either.)
alive() {
  local stat=''
  { IFS= read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
  stat=${stat##*) }
  [[ $stat != [ZX]* ]]
}

# Daemons and shims of this engine: an engine program whose command line names its run directory. A shell, an editor or
# a `tail -f` on the log does not match.
engine_pids() {
  local run dir pid args
  run=$(run_dir "$1")
  for dir in /proc/[0-9]*; do
    pid=${dir#/proc/}
    args=$(cmdline_of "$pid") || continue
    [[ $args == *"$run/"* ]] || continue
    case ${args%% *} in *dockerd | *containerd* | *runsc* | *runc | *docker-proxy) ;; *) continue ;; esac
    if same_root "$pid" || in_engine_cgroup "$1" "$pid"; then printf '%s\n' "$pid"; fi
  done
}

# Containers of this engine by their identifiers, which no other engine has.
container_ids() {
  local dir
  for dir in "$(data_dir "$1")"/docker/containers/*/; do
    [ -d "$dir" ] && basename "$dir"
  done
  return 0
}

container_cgroups() {
  local id dir
  for id in $(container_ids "$1"); do
    for dir in /sys/fs/cgroup/docker/"$id" /sys/fs/cgroup/*/docker/"$id"; do
      if [ -d "$dir" ]; then printf '%s\n' "$dir"; fi
    done
  done
}

# gVisor's own processes have pivoted into roots of their own, and only the container's identifier tells whose they are.
in_engine_cgroup() {
  local id groups
  groups=$(cat "/proc/$2/cgroup" 2>/dev/null) || return 1
  for id in $(container_ids "$1"); do
    [[ $groups == *"$id"* ]] && return 0
  done
  return 1
}

leftover_pids() {
  local dir pid
  engine_pids "$1"
  for dir in $(container_cgroups "$1"); do
    for pid in $({ tr '\n' ' ' <"$dir/cgroup.procs"; } 2>/dev/null); do
      if alive "$pid"; then printf '%s\n' "$pid"; fi
    done
  done
}

kill_leftovers() {
  local pids dir
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    pids=$(leftover_pids "$1" | sort -un)
    [ -n "$pids" ] || break
    # shellcheck disable=SC2086  # a list of numbers
    kill -KILL $pids 2>/dev/null || true
    sleep 0.1
  done
  [ -z "$pids" ] || say "engine $1: still there after SIGKILL: ${pids//$'\n'/ }"
  for dir in $(container_cgroups "$1"); do find "$dir" -depth -type d -exec rmdir {} + 2>/dev/null || true; done
}

# An engine's mounts lie in its own mount namespace and go with its last process. Whatever is visible here all the same
# (an engine that was started in another way) is taken off, the innermost first.
unmount_leftovers() {
  local run data point
  run=$(run_dir "$1") data=$(data_dir "$1")
  cut -d' ' -f5 /proc/self/mountinfo | sort -r | while read -r point; do
    case $point in "$run"/* | "$data"/*) umount -l "$point" 2>/dev/null || true ;; esac
  done
}

# spawn_daemon LOG COMMAND...: a daemon that outlives this shell and holds nothing of it: no terminal, no pipe of a
# command substitution, no lock. It gets a mount namespace of its own, in which the machine's containerd is hidden
# (dockerd would otherwise join a running one, and with it the machine's own containers), and so its mounts end with it.
spawn_daemon() {
  local log=$1
  shift
  mkdir -p /run/containerd
  # shellcheck disable=SC2016  # for the inner shell
  setsid nohup unshare --mount --propagation slave bash -c '
    for fd in /proc/self/fd/*; do
      fd=${fd##*/}
      if [ "$fd" -gt 2 ]; then eval "exec $fd>&-"; fi
    done
    mount -t tmpfs -o mode=711 tmpfs /run/containerd || exit 1
    exec "$@"' osbx-engine "$@" </dev/null >"$log" 2>&1 9>&- &
  SPAWNED=$!
  disown
}

# A daemon that this very call has started, but that is not yet what engine_pids can recognise.
kill_spawned() {
  [ -z "${SPAWNED:-}" ] || kill -KILL "$SPAWNED" 2>/dev/null || true
  SPAWNED=
}

# wait_ready NAME SECONDS: until it answers; at once when its process has died.
wait_ready() {
  local end=$((SECONDS + $2))
  until ping_engine "$1"; do
    alive "$SPAWNED" || return 1
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.1
  done
}

# stop_pid PID SECONDS: asks, waits, and insists.
stop_pid() {
  local end=$((SECONDS + $2))
  kill -TERM "$1" 2>/dev/null || return 0
  while alive "$1"; do
    if [ "$SECONDS" -ge "$end" ]; then kill -KILL "$1" 2>/dev/null || true; fi
    sleep 0.1
  done
}

# Leaves nothing of a running engine, whatever state it is in; its data stays.
sweep_engine() {
  kill_spawned
  kill_leftovers "$1"
  unmount_leftovers "$1"
  bridge_remove "$1"
  rm -rf --one-file-system "$(run_dir "$1")"
}
