# shellcheck shell=bash
# The few Engine API calls that scripts need, by curl: the same on every engine and without its command line.
# The engine is the one at DOCKER_HOST. Needs common.sh.

# api METHOD PATH [CURL-ARGS...]: the body on standard output; a code of 400 or more fails, its body on standard error.
# No version in the path: every engine then speaks the newest that it knows. API_TIMEOUT bounds the call, in seconds.
api() {
  local method=$1 path=$2 body rc=0 host=${DOCKER_HOST:?}
  local args=(-sS --fail-with-body --noproxy '*' --max-time "${API_TIMEOUT:-60}" -X "$method")
  shift 2
  case $host in
    unix://*) args+=(--unix-socket "${host#unix://}" "http://localhost$path") ;;
    tcp://*)
      if [ -n "${DOCKER_TLS_VERIFY:-}" ]; then
        local certs=${DOCKER_CERT_PATH:-$HOME/.docker}
        args+=(--cacert "$certs/ca.pem" --cert "$certs/cert.pem" --key "$certs/key.pem" "https://${host#tcp://}$path")
      else
        args+=("http://${host#tcp://}$path")
      fi
      ;;
    *) die "DOCKER_HOST: $host is neither unix:// nor tcp://" ;;
  esac
  body=$(curl "${args[@]}" "$@" | tr -d '\0'; exit "${PIPESTATUS[0]}") || rc=$?
  if [ "$rc" != 0 ]; then printf '%s\n' "$body" >&2; return "$rc"; fi
  printf '%s\n' "$body"
}

# json_field NAME: the first string of that name; all that is asked here are identifiers and versions.
json_field() { grep -o "\"$1\": *\"[^\"]*\"" | sed -n '1s/^[^:]*: *"\(.*\)"$/\1/p'; }

json_strings() {
  local out='' item
  for item in "$@"; do out+=${out:+,}\"$item\"; done
  printf '[%s]' "$out"
}

# run_container RUNTIME IMAGE COMMAND...: what it printed; no network, removed in the end. Fails unless it exits with 0.
run_container() {
  local runtime=$1 image=$2 id code rc=1
  shift 2
  id=$(api POST /containers/create -H 'Content-Type: application/json' -d "{\"Image\":\"$image\",\"Cmd\":$(json_strings "$@"),
    \"HostConfig\":{\"Runtime\":\"$runtime\",\"NetworkMode\":\"none\"}}" | json_field Id) || return 1
  if api POST "/containers/$id/start" >/dev/null; then
    code=$(api POST "/containers/$id/wait") && api GET "/containers/$id/logs?stdout=1&stderr=1" && rc=0
    case $code in *'"StatusCode":0'*) ;; *) rc=1 ;; esac
  fi
  api DELETE "/containers/$id?force=1&v=1" >/dev/null || true
  return "$rc"
}
