# shellcheck shell=bash
# A contract server as PID 1 of a container, as strictly confined as it has to be able to live. Needs common.sh and an
# engine at DOCKER_HOST.

CONTRACT_USER=65532
CONTRACT_CONTAINERS=()

# contract_start RUNTIME IMAGE [DOCKER-RUN-OPTION...]: sets CONTAINER once the server listens. The tmpfs hides what the
# image has at /workspace, its owner too.
contract_start() {
  local runtime=$1 image=$2
  shift 2
  CONTAINER=$(docker run -d --runtime "$runtime" --network none --read-only --cap-drop ALL \
    --security-opt no-new-privileges --pids-limit 512 --memory 512m \
    --tmpfs "/workspace:uid=$CONTRACT_USER,gid=$CONTRACT_USER,mode=755,exec" --tmpfs /tmp:mode=1777,exec \
    "$@" "$image") || return 1
  CONTRACT_CONTAINERS+=("$CONTAINER")
  contract_wait_for_listener
}

# Until port 3000 (0BB8) is in the table of listening sockets (state 0A); at once when the server has ended.
contract_wait_for_listener() {
  local end=$((SECONDS + 60))
  until docker exec "$CONTAINER" sh -c 'cat /proc/net/tcp /proc/net/tcp6' 2>/dev/null | grep -qE ':0BB8 [0-9A-F]+:0000 0A'; do
    if [ "$(docker inspect -f '{{.State.Running}}' "$CONTAINER")" != true ] || [ "$SECONDS" -ge "$end" ]; then
      say "no server on port 3000:"
      docker logs "$CONTAINER" >&2
      return 1
    fi
    sleep 0.1
  done
}

# contract_stop: SIGTERM; prints the exit code. Nothing kills it: a server that stays is an empty answer after a minute.
contract_stop() {
  docker kill --signal TERM "$CONTAINER" >/dev/null || return 1
  timeout 60 docker wait "$CONTAINER"
}

contract_remove_all() {
  [ ${#CONTRACT_CONTAINERS[@]} = 0 ] || docker rm -f -v "${CONTRACT_CONTAINERS[@]}" >/dev/null 2>&1 || true
  CONTRACT_CONTAINERS=()
}
