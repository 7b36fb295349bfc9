#include "docker/guest_scripts.h"

namespace osbx::docker {

const char kInitScript[] = R"sh(
trap 'exit 0' TERM
missing=
for program in cat chmod dd mkdir mv rm sleep stat tail; do
  command -v $program >/dev/null 2>&1 || missing="$missing $program"
done
[ -z "$missing" ] || { echo "osbx: refused: the image lacks$missing"; exit 69; }
echo 'osbx: ready'
exec </dev/null >/dev/null 2>&1
while :; do
  sleep 2147483 &
  wait $!
done
)sh";

// A stop before each kill: a stopped process cannot fork into the room that a killed one leaves. What was forked since
// the look at /proc still can: where processes come and go fast (a fork bomb), or a tree outlives two kills, everything
// is stopped (a signal to -1 spares its sender and init) until the tree has ended, and the others go on then. A main
// process that cleared its environment has lost its marker; it is known as started by an exec (parent 0) at the
// command's age, which is compared in ticks against the guest's own clock. Its children are found by their parent links
// and sessions.
const char kKillTreeScript[] = R"sh(
exec 2>/dev/null
marker=$1 age=$2 leftover=$3 round=0 gone=0
set -- /proc/[0-9]*
for directory; do [ -d "$directory" ] || gone=$((gone + 1)); done
[ $gone -lt 3 ] || kill -STOP -1
while :; do
  round=$((round + 1)) rows= tree=' ' sessions=' ' strays=
  read -r uptime rest </proc/uptime
  fraction=${uptime#*.} now=$((${uptime%.*} * 100 + 1${fraction%"${fraction#??}"} - 100))
  for directory in /proc/[0-9]*; do
    pid=${directory##*/}
    [ "$pid" = 1 ] || [ "$pid" = $$ ] && continue
    stat=
    while IFS= read -r line || [ -n "$line" ]; do stat="$stat $line"; done <$directory/stat || continue
    set -- ${stat##*) }
    [ "$1" = Z ] || [ "$1" = X ] || [ -z "$4" ] && continue
    rows="$rows $pid:$2:$4"
    case $2 in 0|1)
      environ=
      while IFS= read -r line || [ -n "$line" ]; do environ="$environ$line"; done <$directory/environ || continue
      case $environ in
        *"$marker"*) tree="$tree$pid " sessions="$sessions$4 " ;;
        *OSBX_EXEC=*) ;;
        *) [ "$2" = 0 ] && strays="$strays $pid:$4:${20}" ;;
      esac
    esac
  done
  if [ $round = 1 ]; then
    nearest=100 stray=
    case $tree in *[0-9]*) nearest=0 ;; esac
    for row in $strays; do
      distance=$((now - ${row##*:} - age))
      [ $distance -ge 0 ] || distance=$((0 - distance))
      [ $distance -lt $nearest ] && nearest=$distance stray=$row
    done
    [ -z "$stray" ] || { session=${stray#*:}; tree="$tree${stray%%:*} " sessions="$sessions${session%%:*} "; }
  fi
  grown=1
  while [ $grown = 1 ]; do
    grown=0
    for row in $rows; do
      pid=${row%%:*} rest=${row#*:}
      case $tree in *" $pid "*) continue ;; esac
      case $tree in
        *" ${rest%%:*} "*) ;;
        *) case $sessions in *" ${rest#*:} "*) ;; *) continue ;; esac ;;
      esac
      tree="$tree$pid " sessions="$sessions${rest#*:} " grown=1
    done
  done
  [ "$tree" = ' ' ] && break
  kill -STOP $tree
  kill -KILL $tree
  [ $round -lt 2 ] || kill -STOP -1
done
[ $gone -lt 3 ] && [ $round -lt 3 ] || kill -CONT -1
[ -z "$leftover" ] || [ ! -f "$leftover" ] || { true >"$leftover"; rm -f "$leftover"; }
echo 'osbx: tree ended'
)sh";

// Two programs are started for a small file of known size whose mode a umask can give (one full block tells that all of
// it came), at most seven else.
const char kPutFileScript[] = R"sh(
LC_ALL=C
export LC_ALL
path=$1 token=$2 mode=$3 mask=$4 size=$5
directory=${path%/*}/
temporary=$directory.osbx-put-$token
fail() {
  [ -e "$temporary" ] && true >"$temporary" && rm -f "$temporary"
  exit "$1"
}
[ -L "$path" ] || [ ! -d "$path" ] || exit 102
umask 022
[ -d "$directory" ] || mkdir -p "$directory" || exit 1
if [ "$mode" = keep ]; then
  mode=
  if [ -f "$path" ] && [ ! -L "$path" ]; then
    mode=$(stat -c %a "$path") || exit 1
    case $mode in ????) mode=${mode#?} ;; esac  # without set-user-id and its like
    if [ "$mode" = 644 ]; then mode=; else mask=077; fi
  fi
fi
umask "$mask"
if [ "$size" = 0 ]; then
  true >"$temporary" || fail 1
elif [ -n "$size" ] && [ "$size" -le 1048576 ]; then
  report=$(dd of="$temporary" bs="$size" count=1 iflag=fullblock 2>&1) || { echo "$report" >&2; fail 1; }
  case $report in '1+0 records in'*) ;; *) fail 104 ;; esac
else
  report=$(dd of="$temporary" bs=65536 2>&1) || { echo "$report" >&2; fail 1; }
  received=$(stat -c %s "$temporary") || fail 1
  if [ -n "$size" ]; then
    [ "$received" -eq "$size" ] || fail 104
  else
    [ "$received" -ge 52 ] || fail 104
    record=$(tail -c 52 "$temporary") || fail 104
    size=$((received - 52))
    [ "${record%????????????????????}" = "$token" ] && [ "${record#"$token"}" -eq $size ] || fail 104
    dd of="$temporary" bs=1 seek=$size count=0 </dev/null 2>/dev/null || fail 1
  fi
fi
[ -z "$mode" ] || chmod "$mode" "$temporary" || fail 1
if [ -L "$path" ] && [ -d "$path" ]; then
  # busybox refuses -T here: there the link goes first, and for a moment the name is free.
  mv -fT "$temporary" "$path" 2>/dev/null || { rm -f "$path" && mv -f "$temporary" "$path"; } || fail 1
elif [ -L "$path" ] && [ ! -e "$path" ]; then
  # Nor does its mv look past a link that leads to itself.
  mv -f "$temporary" "$path" 2>/dev/null || { rm -f "$path" && mv -f "$temporary" "$path"; } || fail 1
else
  mv -f "$temporary" "$path" || fail 1
fi
)sh";

const char kGetFileScript[] = R"sh(
LC_ALL=C
export LC_ALL
[ ! -d "$1" ] || exit 102
if [ -f "$1" ]; then exec cat "$1"; fi
[ ! -e "$1" ] || exit 103
true <"$1"
exit 1
)sh";

}  // namespace osbx::docker
