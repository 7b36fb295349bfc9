# shellcheck shell=bash
# What every script here shares: messages, quiet steps with a log, and apt. Sourced, never run.

OSBX_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
OSBX_SCRIPTS=$OSBX_ROOT/scripts
export OSBX_ROOT OSBX_SCRIPTS

# An ordinary user's shell often leaves these out, and dockerd, ip and runc live there.
case ":$PATH:" in *:/usr/sbin:*) ;; *) PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin ;; esac

# Standard output belongs to results (`env`, `--print`), so that everything said goes to standard error.
say() { printf '%s\n' "$*" >&2; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

need_root() { [ "$(id -u)" = 0 ] || die "${1:-this} needs root"; }

# step TITLE COMMAND...: one line for the reader, everything else into a log that is shown only when the command fails.
step() {
  local title=$1 log rc=0
  shift
  log=$(mktemp "${TMPDIR:-/tmp}/osbx-step.XXXXXX.log")
  say "  $title"
  "$@" >"$log" 2>&1 </dev/null || rc=$?
  if [ "$rc" != 0 ]; then
    say "  failed ($rc): $title; the end of $log:"
    tail -n 40 "$log" | sed 's/^/    /' >&2
    return "$rc"
  fi
  rm -f "$log"
}

# with_lock FILE FUNCTION...: one holder at a time. A subshell, so that the descriptor cannot outlive the call;
# whoever starts a daemon below it closes descriptors first (see spawn_daemon).
with_lock() {
  local file=$1
  shift
  mkdir -p "$(dirname "$file")"
  (
    exec 9>"$file"
    flock 9
    "$@"
  )
}

# ---- apt ------------------------------------------------------------------------------------------------------------

pkg_installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

apt_run() {
  DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
    apt-get -y -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 -o APT::Color=0 "$@"
}

# The lock of the package lists is not covered by DPkg::Lock::Timeout: another apt-get update makes this one fail at once.
apt_update() {
  local try
  for try in 1 2 3 4 5; do
    apt_run update && return 0
    sleep "$try"
  done
  return 1
}

# A policy-rc.d that answers 101 keeps packages (docker.io, nginx) from starting system services. It is put there
# only where there is none, carries a mark, and one that a killed run left behind is recognised by the mark.
POLICY=/usr/sbin/policy-rc.d
POLICY_MARK='# temporary, by libosbx scripts: no service is started by this installation'

policy_remove() { if grep -qsxF "$POLICY_MARK" "$POLICY"; then rm -f "$POLICY"; fi; }

policy_place() {
  policy_remove
  [ -e "$POLICY" ] && return 0
  printf '#!/bin/sh\n%s\nexit 101\n' "$POLICY_MARK" >"$POLICY"
  chmod 755 "$POLICY"
}

# The package enables its services for the next boot as well; those of packages that came with this call are switched
# off again (what scripts start is private and needs none of them). Services that were there before are left as they are.
# The helper is the one that the package's own scripts use, so that an upgrade keeps them off; it wants to be told whose
# it is.
disable_new_services() {
  local pkg unit
  have deb-systemd-helper || return 0
  for pkg in "$@"; do
    dpkg-query -L "$pkg" 2>/dev/null | sed -nE 's,^(/usr)?/lib/systemd/system/([^/@]*[.](service|socket))$,\2,p' |
      while read -r unit; do DPKG_MAINTSCRIPT_PACKAGE=$pkg deb-systemd-helper disable "$unit" || true; done
  done
}

apt_install_missing() {
  local rc=0 before service new=()
  before=$(dpkg-query -W -f='${Package}\n' | sort -u)
  trap policy_remove EXIT
  policy_place
  # Lists that are absent fail the simulation, lists that are stale fail the download: one update, one more try.
  if ! apt_run -s --no-install-recommends install "$@" || ! apt_run --no-install-recommends install "$@"; then
    apt_update || return 1
    apt_run --no-install-recommends install "$@" || rc=$?
  fi
  for service in docker.io containerd nginx-common; do
    grep -qx "$service" <<<"$before" || new+=("$service")
  done
  disable_new_services "${new[@]}"
  return "$rc"
}

# apt_install PKG...: installs what is missing, starts nothing, and says one line only if there is something to do.
apt_install() {
  local pkg missing=()
  for pkg in "$@"; do pkg_installed "$pkg" || missing+=("$pkg"); done
  [ ${#missing[@]} = 0 ] && return 0
  have apt-get || die "not a Debian-like system; please install what these packages hold: ${missing[*]}"
  need_root "installing ${missing[*]}"
  step "installing ${missing[*]}" with_lock /run/lock/osbx-apt.lock apt_install_missing "${missing[@]}" ||
    die "could not install: ${missing[*]}"
}
