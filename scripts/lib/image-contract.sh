# shellcheck shell=bash
# Images that carry the contract server: a base and one layer with the program and a workspace of its user (65532, which
# needs no entry in /etc/passwd). The base is a registry's image where image/bases pins one, else made of Debian's
# packages. Needs common.sh, apt-private.sh, engine-api.sh, image-trees.sh.

CONTRACT_IMAGES=(contract-reference contract-python contract-node)
CONTRACT_PROGRAM=${OSBX_SANDBOX_PROGRAM:-$OSBX_ROOT/build/release/bin/sandbox}

contract_program() {
  [ -x "$CONTRACT_PROGRAM" ] || [ -n "${OSBX_SANDBOX_PROGRAM:-}" ] || "$OSBX_SCRIPTS/build" --program || exit 1
  [ -x "$CONTRACT_PROGRAM" ] || die "no program $CONTRACT_PROGRAM"
}

# ---- node: Debian 12's nodejs, in the way of tree_python ----------------------------------------------------------------

NODE_PACKAGES="base-files,base-passwd,bash,coreutils,dash,debianutils,diffutils,findutils,grep,gzip,hostname,libc-bin"
NODE_PACKAGES+=,mawk,procps,sed,tar,util-linux,nodejs,ca-certificates

tree_node() {
  local dir=$1
  mmdebstrap --quiet --variant=extract --include="$NODE_PACKAGES" \
    --hook-dir=/usr/share/mmdebstrap/hooks/maybe-merged-usr \
    bookworm "$dir" "deb [signed-by=$(debian_keyring)] $(debian_mirror) bookworm main" || return 1
  cp "$dir/usr/share/base-passwd/passwd.master" "$dir/etc/passwd"
  cp "$dir/usr/share/base-passwd/group.master" "$dir/etc/group"
  printf 'passwd: files\ngroup: files\nhosts: files dns\n' >"$dir/etc/nsswitch.conf"
  ln -sf mawk "$dir/usr/bin/awk"
  find "$dir/dev" "$dir/tmp" -mindepth 1 -delete
  (cd "$dir" && rm -rf usr/share/{doc,man,locale,info,lintian,bug} var/cache/* var/log/* var/lib/{apt,dpkg} \
    etc/{apt,hostname,resolv.conf} etc/rc?.d)
}

# ---- layers -------------------------------------------------------------------------------------------------------------

contract_base() { case $1 in contract-reference) echo busybox ;; *) echo "${1#contract-}" ;; esac; }

layer_tar() { tar --sort=name --mtime=@1704067200 --numeric-owner "$@"; }

# base_layer BASE OUT: those that take long to make are kept.
base_layer() {
  local kept
  case $1 in
    busybox)
      mkdir -m 755 "$WORK/base"
      tree_busybox "$WORK/base"
      layer_tar --owner=0 --group=0 -C "$WORK/base" -cf "$2" .
      rm -rf "$WORK/base"
      ;;
    python) tar -xOf "$(python_tar)" layer.tar >"$2" ;;
    node)
      kept=$(cache_dir)/node-$(node_recipe).tar
      if [ ! -e "$kept" ]; then
        rm -f "$(cache_dir)"/node-*.tar
        mkdir -m 755 "$WORK/base"
        step "building the image's base node from Debian's packages" tree_node "$WORK/base" || exit 1
        layer_tar -C "$WORK/base" -cf "$kept.new" . && mv "$kept.new" "$kept" || return 1
        rm -rf "$WORK/base"
      fi
      cp "$kept" "$2"
      ;;
  esac
}

node_recipe() { { printf '%s\n' "$NODE_PACKAGES"; declare -f tree_node layer_tar; } | sha256sum | cut -c1-16; }

contract_layer() {
  local dir=$WORK/program
  rm -rf "$dir"
  mkdir -m 755 "$dir" "$dir"/{usr,usr/local,usr/local/bin,workspace} || return 1
  install -m 755 "$CONTRACT_PROGRAM" "$dir/usr/local/bin/sandbox" || return 1
  layer_tar --owner=0 --group=0 -C "$dir" -cf "$1" usr && layer_tar --owner=65532 --group=65532 -C "$dir" -rf "$1" workspace
}

contract_config() {
  printf '{"Env":["PATH=%s","LANG=C.UTF-8"],"User":"65532:65532","WorkingDir":"/workspace",
"Entrypoint":["/usr/local/bin/sandbox"],"ExposedPorts":{"3000/tcp":{}}}' "$SYSTEM_PATH"
}

# What is made of Debian's packages is one function's change away from being another image; so is the program.
contract_recipe() {
  local base
  base=$(contract_base "$1")
  {
    sha256sum <"$CONTRACT_PROGRAM"
    contract_pinned "$1"
    if [ "$base" = node ]; then node_recipe; else recipe "$base"; fi
    declare -f contract_layer contract_config contract_tar
  } | sha256sum | cut -c1-16
}

# contract_tar NAME OUT: what `docker load` reads, as image_tar makes it, with two layers.
contract_tar() {
  local name=$1 out=$2 dir diffs
  dir=$(mktemp -d "$WORK/load.XXXXXX")
  base_layer "$(contract_base "$name")" "$dir/base.tar" || return 1
  contract_layer "$dir/program.tar" || return 1
  diffs=$(cd "$dir" && sha256sum base.tar program.tar | sed 's/^\([0-9a-f]*\) .*/"sha256:\1"/' | paste -sd,)
  printf '{"architecture":"%s","os":"linux","created":"2024-01-01T00:00:00Z","author":"%s","config":%s,
"rootfs":{"type":"layers","diff_ids":[%s]},"history":[{"created":"2024-01-01T00:00:00Z","created_by":"scripts/image %s: base"},
{"created":"2024-01-01T00:00:00Z","created_by":"scripts/image %s: /usr/local/bin/sandbox"}]}' \
    "$(architecture)" "$(author "$name")" "$(contract_config)" "$diffs" "$name" "$name" >"$dir/config.json"
  printf '[{"Config":"config.json","RepoTags":["osbx/%s:latest"],"Layers":["base.tar","program.tar"]}]' "$name" \
    >"$dir/manifest.json"
  tar -C "$dir" -cf "$out" manifest.json config.json base.tar program.tar || return 1
  rm -rf "$dir"
}

# ---- a registry's image as the base ---------------------------------------------------------------------------------------

# The reference that image/bases pins for an image; nothing where there is none, and only a digest counts.
contract_pinned() {
  local name reference
  while read -r name reference; do
    [ "$name" = "${1#contract-}" ] || continue
    [[ $reference =~ @sha256:[0-9a-f]{64}$ ]] || die "image/bases: $name: not a reference with a digest: $reference"
    printf '%s\n' "$reference"
  done < <(sed 's/#.*//' "$OSBX_ROOT/image/bases")
}

# Whether the engine has the base, or gets it. A short question first, so that a closed network costs seconds.
contract_pull() {
  api GET "/images/$1/json" >/dev/null 2>&1 && return 0
  [ "${OSBX_IMAGE_REGISTRY:-}" != none ] || return 1
  API_TIMEOUT=5 api GET "/distribution/$1/json" >/dev/null 2>&1 || return 1
  say "  pulling $1"
  API_TIMEOUT=300 api POST "/images/create?fromImage=$1" >/dev/null && api GET "/images/$1/json" >/dev/null
}

contract_dockerfile() {
  local context=$WORK/context
  mkdir -p "$context"
  cp "$CONTRACT_PROGRAM" "$context/sandbox"
  docker build --quiet --network none --build-arg "BASE=$2" --build-arg "AUTHOR=$(author "$1")" -t "osbx/$1:latest" \
    -f "$OSBX_ROOT/image/Dockerfile" "$context"
}

# make_contract_image NAME
make_contract_image() {
  local name=$1 base
  contract_program
  if present "$name"; then return 0; fi
  base=$(contract_pinned "$name")
  if [ -n "$base" ] && contract_pull "$base"; then
    step "building the image $name on $base" contract_dockerfile "$name" "$base" || exit 1
  else
    case $name in contract-reference) tool_check busybox ;; *) tool_check python ;; esac
    contract_tar "$name" "$WORK/image.tar" || die "could not make the image $name"
    load "$WORK/image.tar" "$name"
  fi
  say "  image osbx/$name:latest"
}
