# shellcheck shell=bash
# What a cross build needs and Debian's cross compiler does not bring: libraries of the other architecture, unpacked into
# a folder and not installed. Needs common.sh, apt-private.sh.

# Archives and headers only; the C and C++ libraries come with the compiler. gtest is for the unit tests.
CROSS_PACKAGES=(libsodium-dev libabsl-dev libboost1.81-dev libgtest-dev libgmock-dev)

cross_dir() { printf '%s/build/sysroot/%s\n' "$OSBX_ROOT" "$1"; }

# cross_sysroot ARCHITECTURE: in Debian's spelling.
cross_sysroot() {
  [ ! -d "$(cross_dir "$1")/usr/include/absl" ] || return 0
  step "fetching libraries for $1 (build/sysroot/$1)" with_lock "$OSBX_ROOT/build/sysroot/.lock" cross_fetch "$1" ||
    die "no libraries for $1"
}

cross_fetch() {
  local -x XAPT_ARCHITECTURE=$1
  unpack_deb bookworm "$(cross_dir "$1")" "${CROSS_PACKAGES[@]}"
}
