# shellcheck shell=bash
# Certificates for an engine that listens on TCP: a CA of its own, one server and one client. Needs common.sh.

# make_certs DIR: DIR/server for the daemon, DIR/client as DOCKER_CERT_PATH wants it.
make_certs() {
  local dir=$1
  mkdir -p "$dir/server" "$dir/client"
  chmod 700 "$dir"
  openssl_key_and_ca "$dir" || return 1
  sign_cert "$dir" "$dir/server" serverAuth 'subjectAltName=IP:127.0.0.1,DNS:localhost' || return 1
  sign_cert "$dir" "$dir/client" clientAuth 'keyUsage=digitalSignature' || return 1
  cp "$dir/ca.pem" "$dir/server/ca.pem"
  cp "$dir/ca.pem" "$dir/client/ca.pem"
}

openssl_key_and_ca() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 -subj '/CN=osbx test CA' \
    -addext 'basicConstraints=critical,CA:TRUE' -addext 'keyUsage=critical,keyCertSign,cRLSign' \
    -keyout "$1/ca-key.pem" -out "$1/ca.pem"
}

# sign_cert CA-DIR DIR USE EXTENSION
sign_cert() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=osbx ${2##*/}" \
    -keyout "$2/key.pem" -out "$2/request.pem" || return 1
  printf 'extendedKeyUsage=%s\n%s\n' "$3" "$4" >"$2/extensions"
  openssl x509 -req -in "$2/request.pem" -CA "$1/ca.pem" -CAkey "$1/ca-key.pem" -CAcreateserial -days 365 \
    -extfile "$2/extensions" -out "$2/cert.pem" || return 1
  rm -f "$2/request.pem" "$2/extensions"
}

# A port of 127.0.0.1 that nobody listens on. Somebody may take it before the daemon does: the caller tries again.
free_port() {
  local port hex
  while :; do
    port=$((20000 + RANDOM % 10000))
    hex=$(printf ':%04X ' "$port")
    if ! grep -qsF "$hex" /proc/net/tcp /proc/net/tcp6; then printf '%s\n' "$port"; return 0; fi
  done
}
