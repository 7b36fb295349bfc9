# shellcheck shell=bash
# The file trees of the images: tree_NAME DIR fills DIR, and config_NAME prints the `config` object of the image (files
# and nothing else unless the image is there to be odd). Needs common.sh, apt-private.sh.

SYSTEM_PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# ---- busybox: one static program under all its names -----------------------------------------------------------------

# Made once a run, in WORK, and copied from there: some hundred links take their time.
busybox_base() {
  local dir=$1 applet
  mkdir -p "$dir"/{bin,sbin,usr/bin,usr/sbin,usr/local/bin,etc,dev,proc,sys,root,var,home,workspace}
  mkdir -m 1777 "$dir/tmp"
  chmod 700 "$dir/root"
  cp "$(command -v busybox)" "$dir/bin/busybox"
  while read -r applet; do
    [ -e "$dir/$applet" ] || ln -s /bin/busybox "$dir/$applet"
  done < <("$dir/bin/busybox" --list-full)
  printf '%s\n' 'root:x:0:0:root:/root:/bin/sh' 'nobody:x:65534:65534:nobody:/nonexistent:/bin/false' >"$dir/etc/passwd"
  printf '%s\n' 'root:x:0:' 'nogroup:x:65534:' >"$dir/etc/group"
}
tree_busybox() {
  [ -d "$WORK/busybox" ] || busybox_base "$WORK/busybox"
  cp -a "$WORK/busybox/." "$1"
}
config_busybox() { printf '{"Env":["PATH=%s"],"Cmd":["/bin/sh"]}' "$SYSTEM_PATH"; }

# ---- python: Debian 12's python3 with its standard library, and the tools that a shell script expects ------------------

PYTHON_PACKAGES=base-files,base-passwd,bash,coreutils,dash,debianutils,diffutils,findutils,grep,gzip,hostname,libc-bin
PYTHON_PACKAGES+=,mawk,procps,sed,tar,util-linux,python3-minimal,libpython3-stdlib

# The packages are unpacked and not configured (half the time, half the size); what their scripts would have done and
# what matters here follows by hand: users, `awk`, names to addresses, compiled modules.
tree_python() {
  local dir=$1
  mmdebstrap --quiet --variant=extract --include="$PYTHON_PACKAGES" \
    --hook-dir=/usr/share/mmdebstrap/hooks/maybe-merged-usr \
    bookworm "$dir" "deb [signed-by=$(debian_keyring)] $(debian_mirror) bookworm main" || return 1
  cp "$dir/usr/share/base-passwd/passwd.master" "$dir/etc/passwd"
  cp "$dir/usr/share/base-passwd/group.master" "$dir/etc/group"
  printf 'passwd: files\ngroup: files\nhosts: files dns\n' >"$dir/etc/nsswitch.conf"
  ln -sf mawk "$dir/usr/bin/awk"
  chroot "$dir" python3 -m compileall -q -j 2 /usr/lib/python3.11 || return 1
  find "$dir/dev" "$dir/tmp" -mindepth 1 -delete
  (cd "$dir" && rm -rf usr/share/{doc,man,locale,info,lintian,bug} var/cache/* var/log/* var/lib/{apt,dpkg} \
    etc/{apt,hostname,resolv.conf} etc/rc?.d)
  mkdir -p "$dir/workspace"
}
config_python() { printf '{"Env":["PATH=%s","LANG=C.UTF-8"],"Cmd":["python3"]}' "$SYSTEM_PATH"; }

# ---- fixtures: busybox with one thing odd ------------------------------------------------------------------------------

# fixture_config EXTRA: the config of busybox plus more members.
fixture_config() { printf '{"Env":["PATH=%s"],"Cmd":["/bin/sh"],%s}' "$SYSTEM_PATH" "$1"; }

# Volumes that would give a guest host disk, one of them over our own mount.
tree_test_volume() { tree_busybox "$1"; }
config_test_volume() { fixture_config '"Volumes":{"/data":{},"/workspace":{},"/var/cache/x":{}}'; }

# A check that runs at once and every second, and ends PID 1.
tree_test_healthcheck() { tree_busybox "$1"; }
config_test_healthcheck() {
  fixture_config '"Healthcheck":{"Test":["CMD-SHELL","kill -9 1; kill -9 -1; exit 1"],"Interval":1000000000,"Timeout":1000000000,"Retries":1}'
}

tree_test_stopsignal() { tree_busybox "$1"; }
config_test_stopsignal() { fixture_config '"StopSignal":"SIGUSR1"'; }

tree_test_user_root() { tree_busybox "$1"; }
config_test_user_root() { fixture_config '"User":"root","WorkingDir":"/nowhere"'; }

tree_test_entrypoint() { tree_busybox "$1"; }
config_test_entrypoint() {
  printf '{"Env":["PATH=%s"],"Entrypoint":["/bin/false"],"Cmd":["from","image"]}' "$SYSTEM_PATH"
}

# Labels that claim to be a sandbox.
tree_test_labels() { tree_busybox "$1"; }
config_test_labels() {
  fixture_config '"Labels":{"osbx.managed":"1","osbx.name":"evil","osbx.created-ms":"junk","osbx.user.x":"y"}'
}

tree_test_env() { tree_busybox "$1"; mkdir -p "$1/opt/bin"; }
config_test_env() { printf '{"Env":["FOO=from-image","PATH=/bin:/usr/bin:/opt/bin"],"Cmd":["/bin/sh"]}'; }

tree_test_no_workspace() { tree_busybox "$1"; rmdir "$1/workspace" "$1/tmp"; }
tree_test_workspace_file() { tree_busybox "$1"; rmdir "$1/workspace"; printf 'a file\n' >"$1/workspace"; }
tree_test_workspace_link() { tree_busybox "$1"; rmdir "$1/workspace"; ln -s /etc "$1/workspace"; }

# One program and no shell: busybox takes its applet from the name it is called by, and this one is no `busybox`.
tree_test_no_shell() {
  mkdir -p "$1"/{bin,etc,dev,proc,sys,workspace}
  mkdir -m 1777 "$1/tmp"
  cp "$(command -v busybox)" "$1/bin/sleep"
  printf 'root:x:0:0:root:/root:/bin/sh\n' >"$1/etc/passwd"
}
config_test_no_shell() { printf '{"Env":["PATH=%s"],"Cmd":["/bin/sleep","1000000"]}' "$SYSTEM_PATH"; }

# Users of every kind: good, root under another name, twice the same name, numbers out of range, lines that are none.
tree_test_users() {
  tree_busybox "$1"
  cat >"$1/etc/passwd" <<'P'
root:x:0:0:root:/root:/bin/sh
app:x:1234:1234:App:/home/app:/bin/sh
zero:x:0:0:root by another name:/root:/bin/sh
zerogroup:x:1235:0:gid 0:/:/bin/sh
dup:x:1301:1301:first:/:/bin/sh
dup:x:1302:1302:second:/:/bin/sh
1500:x:1600:1600:a name of digits:/:/bin/sh
no-uid:x
empty-uid:x::1400::/:/bin/sh
word-uid:x:abc:1401::/:/bin/sh
negative:x:-1:-1::/:/bin/sh
padded:x: 1402:1402::/:/bin/sh
hex:x:0x10:16::/:/bin/sh
leading:x:01403:01403::/:/bin/sh
huge:x:4294967296:4294967296::/:/bin/sh
maxint:x:2147483647:2147483647::/:/bin/sh
:x:1404:1404:no name:/:/bin/sh
::::::
just a line without a colon

no-gid:x:1405
nogid-empty:x:1406:::/:/bin/sh
last-without-newline:x:1407:1407::/:/bin/sh
P
  truncate -s -1 "$1/etc/passwd"
  cat >"$1/etc/group" <<'G'
root:x:0:
app:x:1234:app
staff:x:4321:app,dup
zerog:x:0:
dupg:x:5001:
dupg:x:5002:
broken
word:x:abc:
:x:5003:
G
}

# /etc/passwd is a link to a file that would otherwise do.
tree_test_passwd_link() {
  tree_busybox "$1"
  printf '%s\n' 'root:x:0:0:root:/root:/bin/sh' 'app:x:1234:1234:App:/home/app:/bin/sh' >"$1/etc/shadow"
  rm "$1/etc/passwd"
  ln -s /etc/shadow "$1/etc/passwd"
}

FIXTURES=(test-volume test-healthcheck test-stopsignal test-user-root test-entrypoint test-labels test-env
  test-no-workspace test-workspace-file test-workspace-link test-no-shell test-users test-passwd-link)
