# shellcheck shell=bash
# The engine kind `docker`: a dockerd of our own from what is on PATH. A kind is three functions, KIND_prepare, KIND_start
# and KIND_stop; the rest is shared. Needs common.sh, engine-common.sh, engine-bridge.sh, engine-tls.sh, gvisor.sh.

docker_prepare() {
  "$OSBX_SCRIPTS/dependencies" engine
  runsc_can_run_here
  runsc_prepare
}

# overlay2 where an overlay can be mounted on the data directory; vfs is slower and larger, and isolates no less.
docker_storage() {
  local dir driver=vfs
  dir=$(mktemp -d "$1/overlay.XXXXXX")
  mkdir "$dir/l" "$dir/u" "$dir/w" "$dir/m"
  if unshare --mount mount -t overlay overlay -o "lowerdir=$dir/l,upperdir=$dir/u,workdir=$dir/w" "$dir/m" 2>/dev/null; then
    driver=overlay2
  else
    say "  no overlay on $1: storage driver vfs"
  fi
  rm -rf "$dir"
  printf '%s\n' "$driver"
}

# Names of the runtime entries; `runc` is builtin. `runsc-impostor` is runc under a name that promises gVisor: tests use
# it to see such an entry refused.
docker_runtimes() {
  local args='' out runc runsc=$RUNSC
  runc=$(command -v runc)
  if runsc_needs_no_network; then args=',"runtimeArgs":["--network=none"]'; fi
  out="\"runsc\":{\"path\":\"$runsc\"$args}"
  [ -z "$OPT_RUNSC_IS_RUNC" ] || out="\"runsc\":{\"path\":\"$runc\"}"
  [ -z "$RUNSC22" ] || out+=",\"runsc22\":{\"path\":\"$RUNSC22\"$args}"
  printf '{%s,"runsc-impostor":{"path":"%s"}}\n' "$out" "$runc"
}

docker_tls_settings() {
  [ -n "$OPT_TLS" ] || return 0
  local tls
  tls=$(run_dir "$1")/tls/server
  printf '"tlsverify":true,"tlscacert":"%s/ca.pem","tlscert":"%s/cert.pem","tlskey":"%s/key.pem",' "$tls" "$tls" "$tls"
}

# Docker 20.10 keeps its identity in /etc/docker/key.json: all daemons of a machine would have one ID, and ours would
# write into the user's /etc. Newer ones keep it in the data root and do not know this setting.
docker_key_setting() {
  case $(dockerd --version) in
    *' version 20.'*) printf '"deprecated-key-path":"%s/key.json",' "$(data_dir "$1")" ;;
  esac
}

# docker_config NAME STORAGE BRIDGE PORT
docker_config() {
  local run data hosts
  run=$(run_dir "$1") data=$(data_dir "$1")
  hosts="\"unix://$run/docker.sock\""
  [ -z "$4" ] || hosts+=",\"tcp://127.0.0.1:$4\""
  cat <<J
{"hosts":[$hosts],$(docker_tls_settings "$1")$(docker_key_setting "$1")
 "data-root":"$data/docker","exec-root":"$run/exec","pidfile":"$run/docker.pid",
 "storage-driver":"$2","runtimes":$(docker_runtimes),
 "bridge":"$3","iptables":false,"ip6tables":false,"ip-forward":false,"ip-masq":false,
 "exec-opts":["native.cgroupdriver=cgroupfs"],"live-restore":false,"shutdown-timeout":5,"debug":${OPT_DEBUG:-false}}
J
}

# docker_start NAME: running and answering, or nothing left and a reason given.
docker_start() {
  local name=$1 run data bridge=none storage port=''
  run=$(run_dir "$name") data=$(data_dir "$name")
  mkdir -p "$run" "$data/docker"
  chmod 711 "$data" "$run"
  [ -z "$OPT_TLS" ] || step 'making certificates' make_certs "$run/tls" || return 1
  [ -z "$OPT_BRIDGE" ] || bridge=$(bridge_create "$name") || return 1
  storage=$(docker_storage "$data")
  for _ in 1 2 3; do
    [ -z "$OPT_TLS" ] || port=$(free_port)
    docker_config "$name" "$storage" "$bridge" "$port" >"$run/daemon.json"
    rm -f "$run/docker.pid" "$run/docker.sock"
    docker_spawn "$run/log" --config-file "$run/daemon.json"
    if wait_ready "$name" 60; then
      docker_write_facts "$name" "$port"
      return 0
    fi
    kill_spawned
    kill_leftovers "$name"
    grep -qs 'address already in use' "$run/log" || break
    [ -n "$port" ] || break
  done
  say "dockerd did not start; the end of its log:"
  tail -n 15 "$run/log" | cut -c1-600 | sed 's/^/    /' >&2
  return 1
}

# The caller's client settings are not the daemon's business; an empty config directory keeps it from a user's plugins.
docker_spawn() {
  local log=$1
  shift
  spawn_daemon "$log" env -u DOCKER_HOST -u DOCKER_TLS_VERIFY -u DOCKER_CERT_PATH -u DOCKER_CONTEXT \
    -u DOCKER_API_VERSION "$(command -v dockerd)" "$@"
}

docker_write_facts() {
  local name=$1 port=$2 runtimes='runc runsc runsc-impostor'
  [ -z "$RUNSC22" ] || runtimes+=' runsc22'
  put_fact "$name" kind docker
  put_fact "$name" runtimes "$runtimes"
  put_fact "$name" host "$([ -n "$port" ] && printf 'tcp://127.0.0.1:%s' "$port" || printf 'unix://%s' "$(engine_socket "$name")")"
  put_fact "$name" version "$(DOCKER_HOST=unix://$(engine_socket "$name") api GET /version | json_field Version)"
}

docker_pid() {
  local run pid
  run=$(run_dir "$1")
  pid=$(cat "$run/docker.pid" 2>/dev/null) || return 1
  [[ $(cmdline_of "$pid") == *"$run/daemon.json"* ]] && same_root "$pid" && printf '%s\n' "$pid"
}

# Containers are killed first: dockerd would ask each one and wait, and a PID 1 that ignores TERM costs ten seconds.
docker_stop() {
  local name=$1 pid id
  pid=$(docker_pid "$name") || return 0
  if ping_engine "$name"; then
    local -x DOCKER_HOST
    DOCKER_HOST=unix://$(engine_socket "$name")
    for id in $(API_TIMEOUT=10 api GET /containers/json | grep -o '"Id":"[0-9a-f]*"' | cut -d'"' -f4); do
      API_TIMEOUT=10 api POST "/containers/$id/kill" >/dev/null 2>&1 &
    done
    wait
  fi
  stop_pid "$pid" 20
}
