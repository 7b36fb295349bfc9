# shellcheck shell=bash
# A Linux bridge that belongs to one engine. Needs common.sh, engine-common.sh.

# Interface names have at most 15 characters; longer engine names are told apart by a checksum.
bridge_name() {
  local name=osbxbr-$1
  [ ${#name} -le 15 ] || name=osbxbr-$(printf '%s' "$1" | cksum | cut -d' ' -f1 | tail -c 9)
  printf '%s\n' "${name:0:15}"
}

# The first private /24 that no address and no route of this machine touches.
bridge_free_subnet() {
  local n used
  used=$(ip -4 -o addr show; ip -4 route show table all)
  for n in $(seq 1 250); do
    if ! grep -qF " 10.213.$n." <<<"$used"; then printf '10.213.%s\n' "$n"; return 0; fi
  done
  return 1
}

bridge_create() {
  local bridge subnet
  bridge=$(bridge_name "$1")
  [ ! -e "/sys/class/net/$bridge" ] || die "network interface $bridge exists already (ip link del $bridge)"
  subnet=$(bridge_free_subnet) || die "no free subnet in 10.213.0.0/16"
  ip link add name "$bridge" type bridge || die "cannot make the bridge $bridge"
  put_fact "$1" bridge "$bridge"
  ip addr add "$subnet.1/24" dev "$bridge"
  ip link set "$bridge" up
  printf '%s\n' "$bridge"
}

bridge_remove() {
  local bridge
  bridge=$(fact "$1" bridge)
  [ -z "$bridge" ] || ip link del "$bridge" 2>/dev/null || true
}
