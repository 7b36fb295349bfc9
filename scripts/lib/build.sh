# shellcheck shell=bash
# Configuring and building a preset, for all scripts that need one. Needs common.sh.

build_dir() { printf '%s/build/%s\n' "$OSBX_ROOT" "$1"; }

# cmake_preset PRESET [-DNAME=VALUE...]: a build directory that was made elsewhere (a copied tree) is made anew.
cmake_preset() {
  local dir
  dir=$(build_dir "$1")
  if [ -e "$dir/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$OSBX_ROOT" "$dir/CMakeCache.txt"; then
    rm -rf "$dir"
  fi
  (cd "$OSBX_ROOT" && cmake --preset "$@")
}

# ninja_build PRESET [TARGET...]
ninja_build() { ninja -C "$(build_dir "$1")" "${@:2}"; }

# configure_and_build PRESET TARGETS [-DNAME=VALUE...]: TARGETS is one word list, "all" or "all osbx_tests" ...
configure_and_build() {
  local preset=$1 targets=$2
  shift 2
  step "configuring build/$preset" cmake_preset "$preset" "$@" || exit 1
  # shellcheck disable=SC2086  # a list of targets
  step "building build/$preset" ninja_build "$preset" $targets || exit 1
}
