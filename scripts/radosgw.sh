#!/usr/bin/env bash
# Runs a real S3 server, Ceph's radosgw, on the loopback interface until standard input ends: one monitor, one OSD that
# keeps everything in memory, one gateway. Installs missing Debian packages, which requires root.
#
#   radosgw.sh FOLDER PORT MONITOR_PORT OLD_MONITOR_PORT ACCESS_KEY SECRET_KEY
#
# Prints `ready` when it accepts requests. FOLDER is always removed at the end.
set -euo pipefail

mkdir -p "$1"
folder=$(cd "$1" && pwd)
port=$2
monitor="[v2:127.0.0.1:$3/0,v1:127.0.0.1:$4/0]"
access_key=$5
secret_key=$6
daemons=()

end() {
  # The data is discarded, so the daemons need no clean shutdown.
  for daemon in "${daemons[@]}"; do kill -KILL "$daemon" 2>/dev/null || true; done
  wait 2>/dev/null || true
  cd / && rm -rf "$folder"
}
trap end EXIT
trap 'exit 1' INT TERM HUP

fail() {
  echo "radosgw: $1" >&2
  tail -n 5 "$folder"/log/*.out >&2 2>/dev/null || true
  exit 1
}

wait_for() {
  for _ in $(seq 150); do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.2
  done
  fail "gave up waiting for: $*"
}

install_programs() {
  local program missing=''
  for program in ceph ceph-mon ceph-osd radosgw; do
    command -v "$program" >/dev/null || missing="$missing $program"
  done
  [ -z "$missing" ] && return
  [ "$(id -u)" = 0 ] || fail "missing$missing. Run as root: apt-get install ceph-mon ceph-osd radosgw ceph-common"
  local apt='apt-get -qq -o DPkg::Lock::Timeout=120'
  $apt update >/dev/null || fail 'apt-get update failed'
  DEBIAN_FRONTEND=noninteractive $apt install -y --no-install-recommends \
    ceph-mon ceph-osd radosgw ceph-common >/dev/null || fail 'apt-get install failed'
}

# Without tcp_nodelay a response to a GET waits for the kernel's delayed acknowledgement: 45 ms instead of 2.
write_configuration() {
  cat >ceph.conf <<X
[global]
fsid = $1
mon_host = $monitor
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
auth_cluster_required = cephx
auth_service_required = cephx
auth_client_required = cephx
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 1
osd_pool_default_pgp_num = 1
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
mon_allow_pool_size_one = true
mon_warn_on_pool_no_redundancy = false
mon_max_pg_per_osd = 1000
osd_objectstore = memstore
memstore_device_bytes = 2147483648
run_dir = $folder/log
admin_socket = $folder/log/\$name.asok
log_file = $folder/log/\$name.log
pid_file = $folder/log/\$name.pid
mon_data = $folder/mon
osd_data = $folder/osd
keyring = $folder/keyring
[client.rgw]
rgw_frontends = beast endpoint=127.0.0.1:$port tcp_nodelay=1
rgw_rados_pool_pg_num_min = 1
rgw_data = $folder/rgw
rgw_enable_usage_log = false
rgw_dynamic_resharding = false
rgw_run_sync_thread = false
X
}

# All keys must exist before the monitor is created.
make_monitor() {
  local keys="ceph-authtool keyring --gen-key"
  ceph-authtool --create-keyring keyring --gen-key -n mon. --cap mon 'allow *'
  $keys -n client.admin --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *'
  $keys -n osd.0 --cap mon 'allow profile osd' --cap osd 'allow *' --cap mgr 'allow profile osd'
  $keys -n client.rgw --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *'
  monmaptool --create --addv a "$monitor" --fsid "$1" monmap
  ceph-mon -c ceph.conf --mkfs -i a --monmap monmap --keyring keyring
}

make_osd() {
  local uuid
  uuid=$(cat /proc/sys/kernel/random/uuid)
  timeout 20 ceph -c ceph.conf osd new "$uuid"
  ceph-osd -c ceph.conf -i 0 --mkfs --osd-uuid "$uuid"
}

start() {
  "$@" >"log/$(basename "$1").out" 2>&1 &
  daemons+=($!)
}

install_programs
cd "$folder"
mkdir -p mon osd rgw log
fsid=$(cat /proc/sys/kernel/random/uuid)
write_configuration "$fsid"
make_monitor "$fsid" >log/setup.out 2>&1 || fail 'the monitor could not be created'
start ceph-mon -c ceph.conf -i a -f
wait_for timeout 5 ceph -c ceph.conf status
make_osd >>log/setup.out 2>&1 || fail 'the OSD could not be created'
start ceph-osd -c ceph.conf -i 0 -f
timeout 20 ceph -c ceph.conf osd crush add osd.0 1.0 root=default >>log/setup.out 2>&1 || true
# A gateway that starts before its OSD never finds it.
wait_for sh -c 'timeout 5 ceph -c ceph.conf osd stat | grep -q "1 up"'
start radosgw -c ceph.conf -n client.rgw -f
wait_for bash -c "exec 3<>/dev/tcp/127.0.0.1/$port"
radosgw-admin -c ceph.conf -n client.rgw user create --uid=test --display-name=test \
  --access-key="$access_key" --secret-key="$secret_key" >>log/setup.out 2>&1 || fail 'the user could not be created'
echo ready
# Standard input ends when the process that started this script ends, even if it is killed.
while read -r _; do :; done
