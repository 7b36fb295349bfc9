#!/bin/sh
# Compares what libosbx.so exports with the reviewed list (symbols.txt: "name node" a line), and the list with the
# header and the version script. Usage: check_symbols.sh LIBRARY SYMBOLS HEADER VERSION_SCRIPT
set -eu
[ $# -eq 4 ] || { echo "usage: $0 LIBRARY SYMBOLS HEADER VERSION_SCRIPT" >&2; exit 2; }
library=$1 symbols=$2 header=$3 script=$4
export LC_ALL=C

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sort "$symbols" > "$work/list"
[ -s "$work/list" ] || { echo "FAIL: $symbols is empty" >&2; exit 1; }
cut -d ' ' -f 1 "$work/list" > "$work/list-names"
failed=0

# compare WHAT EXPECTED ACTUAL
compare() {
  if ! diff -u "$2" "$3" > "$work/diff"; then
    echo "FAIL: $1 differs from $symbols (-: only in the list, +: not in the list)" >&2
    sed -n '3,$p' "$work/diff" >&2
    failed=1
  fi
}

if [ -n "$(uniq -d "$work/list-names")" ]; then
  echo "FAIL: $symbols names a symbol twice" >&2
  failed=1
fi

# The library. An absolute symbol is the version node itself; anything else without a node has no business there.
nm -D --defined-only --extern-only --with-symbol-versions "$library" |
  awk '$2 == "A" && $3 ~ /^OSBX_[0-9.]+(@@?OSBX_[0-9.]+)?$/ { next } { sub(/@@?/, " ", $3); print $3 }' | sort > "$work/library"
compare "$library" "$work/list" "$work/library"

# The header: every function with OSBX_API, declarations may run over several lines.
tr '\n' ' ' < "$header" | sed 's/OSBX_API /\n&/g' | sed -n 's/^OSBX_API [^;(]*\(osbx_[a-z0-9_]*\)(.*/\1/p' | sort > "$work/header"
compare "$header" "$work/list-names" "$work/header"

# The version script: each symbol by name under its node.
awk '/^OSBX_[0-9.]+ *{/ { node = $1 } /^ *osbx_[a-z0-9_]+;/ { sub(/;.*/, ""); print $1, node }' "$script" | sort > "$work/script"
compare "$script" "$work/list" "$work/script"

[ $failed -eq 0 ] || exit 1
echo "$(wc -l < "$work/list") symbols agree"
