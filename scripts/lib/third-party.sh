# shellcheck shell=bash
# Source code of others that is compiled here, since Debian has no static library of it. Needs common.sh,
# apt-private.sh.

THIRD_PARTY=$OSBX_ROOT/build/third_party

# cJSON in build/third_party/cjson, of the very version whose header is installed: Debian's source package with Debian's
# patches. apt checks the archive's signature and each file's checksum.
cjson_source() {
  local version
  version=$(dpkg-query -W -f='${Version}' libcjson-dev) || die "libcjson-dev is not installed"
  [ "$(cat "$THIRD_PARTY/cjson/version" 2>/dev/null)" != "$version" ] || return 0
  step "fetching the source of cJSON $version" with_lock "$THIRD_PARTY/.lock" cjson_fetch "$version" || die "no source of cJSON"
}

cjson_fetch() {
  local version=$1 work
  work=$(mktemp -d "${TMPDIR:-/tmp}/osbx-cjson.XXXXXX")
  # shellcheck disable=SC2064  # the value of now is the one to remove
  trap "rm -rf '$work'" EXIT
  xapt "$work/apt" bookworm update || return 1
  (cd "$work" && xapt "$work/apt" bookworm source --download-only "cjson=$version" && dpkg-source -x ./*.dsc tree) || return 1
  mkdir -p "$THIRD_PARTY"
  rm -rf "$THIRD_PARTY/cjson.new" "$THIRD_PARTY/cjson"
  mkdir "$THIRD_PARTY/cjson.new"
  cp "$work/tree"/{cJSON.c,cJSON.h,LICENSE} "$THIRD_PARTY/cjson.new/" || return 1
  printf '%s\n' "$version" >"$THIRD_PARTY/cjson.new/version"
  mv -T "$THIRD_PARTY/cjson.new" "$THIRD_PARTY/cjson"
}
