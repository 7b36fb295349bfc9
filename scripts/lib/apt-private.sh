# shellcheck shell=bash
# Packages of another Debian release, without touching this machine's apt: own sources, lists and cache, used once and
# thrown away. Needs common.sh.

# The mirror that this machine already uses.
debian_mirror() {
  local uri
  # shellcheck disable=SC2016  # apt's own variable
  uri=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -m1 '/debian/$') || true
  [ -n "$uri" ] || die "apt has no Debian archive among its sources (apt-get indextargets shows none)"
  printf '%s\n' "$uri"
}

debian_keyring() {
  local key
  for key in /usr/share/keyrings/debian-archive-keyring.gpg /usr/share/keyrings/debian-archive-keyring.pgp; do
    [ -r "$key" ] && { printf '%s\n' "$key"; return 0; }
  done
  die "no Debian archive keyring; please install debian-archive-keyring"
}

# The security updates of a suite, where this machine's apt has them among its sources.
debian_security_mirror() {
  # shellcheck disable=SC2016  # apt's own variable
  apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -m1 '/debian-security/$' || true
}

# debian_sources SUITE: the lines of a sources.list; its source packages as well.
debian_sources() {
  local suite=$1 kind security
  security=$(debian_security_mirror)
  for kind in deb deb-src; do
    printf '%s [signed-by=%s] %s %s main\n' "$kind" "$(debian_keyring)" "$(debian_mirror)" "$suite"
    [ -z "$security" ] || [[ $suite == *-* ]] ||
      printf '%s [signed-by=%s] %s %s-security main\n' "$kind" "$(debian_keyring)" "$security" "$suite"
  done
}

# xapt DIR SUITE APT-GET-ARGS...: apt-get that knows SUITE only and keeps all it has in DIR. The state of this machine is
# hidden as well (status=/dev/null), or else an installed newer version would be the candidate, and that cannot be
# downloaded. Signatures are checked as ever; only the date is not, since snapshots of the archive serve an old Release file.
# XAPT_ARCHITECTURE: packages of another one than this machine's.
xapt() {
  local dir=$1 suite=$2
  shift 2
  mkdir -p "$dir/none" "$dir/lists/partial" "$dir/cache/archives/partial"
  debian_sources "$suite" >"$dir/sources.list"
  local architecture=()
  [ -z "${XAPT_ARCHITECTURE:-}" ] ||
    architecture=(-o "APT::Architecture=$XAPT_ARCHITECTURE" -o "APT::Architectures=$XAPT_ARCHITECTURE")
  apt-get -qq "${architecture[@]}" -o Dir::Etc::sourcelist="$dir/sources.list" -o Dir::Etc::sourceparts="$dir/none" \
    -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts="$dir/none" \
    -o Dir::State::lists="$dir/lists" -o Dir::State::status=/dev/null -o Dir::Cache="$dir/cache" \
    -o APT::Sandbox::User=root -o Acquire::Check-Valid-Until=false "$@"
}

# unpack_deb SUITE DIR PKG...: the packages' files in DIR, which appears only when it is whole. Nothing is installed.
unpack_deb() {
  local suite=$1 dir=$2 work deb
  shift 2
  work=$(mktemp -d "${TMPDIR:-/tmp}/osbx-apt.XXXXXX")
  # shellcheck disable=SC2064  # the value of now is the one to remove
  trap "rm -rf '$work'" EXIT
  mkdir -p "$work/debs" "$work/tree" "$(dirname "$dir")"
  xapt "$work/apt" "$suite" update || return 1
  (cd "$work/debs" && xapt "$work/apt" "$suite" download "$@") || return 1
  for deb in "$work"/debs/*.deb; do dpkg-deb -x "$deb" "$work/tree" || return 1; done
  rm -rf "$dir.new"
  cp -a "$work/tree" "$dir.new" && mv -T "$dir.new" "$dir"
}
