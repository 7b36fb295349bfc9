# shellcheck shell=bash
# gVisor's runsc: where it comes from, which arguments it needs here, and proof that it runs. Needs common.sh,
# apt-private.sh, engine-api.sh.

# runsc_path YEAR: releases are kept side by side, in a folder of our own; the machine's own runsc is left alone.
runsc_path() { printf '%s/runsc/%s/usr/bin/runsc\n' "$ENGINE_DATA" "$1"; }

runsc_fetch_locked() {
  local year=$1 suite=$2
  [ -x "$(runsc_path "$year")" ] || unpack_deb "$suite" "$ENGINE_DATA/runsc/$year" runsc
}

runsc_fetch() {
  [ -x "$(runsc_path "$1")" ] && return 0
  step "fetching gVisor's runsc $1 from $2" with_lock "$ENGINE_DATA/runsc/.lock" runsc_fetch_locked "$1" "$2"
}

# 2024 (systrap) is the everyday one, 2022 (ptrace) is there for tests, so that its absence is no failure.
# OSBX_RUNSC=/path/to/runsc takes another binary for the everyday one.
runsc_prepare() {
  if [ -n "${OSBX_RUNSC:-}" ]; then
    [ -x "$OSBX_RUNSC" ] || die "OSBX_RUNSC: $OSBX_RUNSC cannot be executed"
    RUNSC=$(readlink -f "$OSBX_RUNSC")
  else
    runsc_fetch 2024 bookworm-backports || die "gVisor (runsc) could not be fetched"
    RUNSC=$(runsc_path 2024)
  fi
  runsc_fetch 2022 bookworm || say "  going on without runsc 2022 (runtime runsc22)"
  RUNSC22=$(runsc_path 2022)
  [ -x "$RUNSC22" ] || RUNSC22=
}

# The rule: from Linux 6.12 on these releases say "cannot run with network enabled in root network namespace", so there,
# and only there, their own network stack is switched off. OSBX_RUNSC_NETWORK=none|sandbox decides instead.
runsc_needs_no_network() {
  local major minor rest
  case ${OSBX_RUNSC_NETWORK:-} in
    none) return 0 ;;
    '') ;;
    *) return 1 ;;
  esac
  IFS=. read -r major minor rest <<<"$(uname -r)"
  minor=${minor%%[!0-9]*}
  [ "$major" -gt 6 ] || { [ "$major" -eq 6 ] && [ "$minor" -ge 12 ]; }
}

# runsc starts its sandbox in a user namespace, and a process in a chroot may not make one.
runsc_can_run_here() {
  unshare --user true 2>/dev/null && return 0
  if [ "$(cat /proc/sys/user/max_user_namespaces 2>/dev/null)" = 0 ]; then
    die "gVisor cannot run: user namespaces are off (user.max_user_namespaces is 0)"
  fi
  die "gVisor cannot run: no user namespace can be made; inside a chroot none can, enter the tree with pivot_root instead"
}

# One real container in the engine at DOCKER_HOST; only gVisor's own kernel log is proof.
verify_gvisor() {
  local out rc=0
  if ! out=$(run_container runsc osbx/busybox:latest dmesg 2>&1); then rc=1; fi
  if [ "$rc" = 0 ] && grep -qa 'Starting gVisor' <<<"$out"; then return 0; fi
  say "gVisor does not run here: ${out:-the kernel log of the guest is empty}"
  return 1
}
