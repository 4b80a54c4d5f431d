#!/usr/bin/env bash
# Runs PgBouncer in transaction mode on the loopback interface, in front of a Postgres there, until standard input ends.
# Installs the Debian package if it is missing, which requires root.
#
#   pgbouncer.sh FOLDER PORT POSTGRES_PORT
#
# Prints `ready` when it accepts connections. FOLDER is always removed at the end.
set -euo pipefail

mkdir -p "$1"
folder=$(cd "$1" && pwd)
port=$2
postgres_port=$3
bouncer=''

end() {
  [ -z "$bouncer" ] || kill -KILL "$bouncer" 2>/dev/null || true
  wait 2>/dev/null || true
  cd / && rm -rf "$folder"
}
trap end EXIT
trap 'exit 1' INT TERM HUP

fail() {
  echo "pgbouncer: $1" >&2
  tail -n 5 "$folder/out" >&2 2>/dev/null || true
  exit 1
}

install_program() {
  command -v pgbouncer >/dev/null && return
  [ "$(id -u)" = 0 ] || fail 'PgBouncer is missing. Run as root: apt-get install pgbouncer'
  local apt='apt-get -qq -o DPkg::Lock::Timeout=120'
  $apt update >/dev/null || fail 'apt-get update failed'
  # RUNLEVEL=1 keeps the package from starting its own PgBouncer.
  RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive $apt install -y --no-install-recommends pgbouncer >/dev/null ||
    fail 'apt-get install failed'
}

# Few connections to the server, so that transactions of one client use different ones.
write_configuration() {
  cat >pgbouncer.ini <<X
[databases]
* = host=127.0.0.1 port=$postgres_port user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $port
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 8
max_client_conn = 1000
X
}

export PATH="$PATH:/usr/sbin"
install_program
cd "$folder"
write_configuration
user=()
# PgBouncer refuses to run as root.
if [ "$(id -u)" = 0 ]; then
  chmod 755 "$folder"
  user=(-u nobody)
fi
pgbouncer -q "${user[@]}" pgbouncer.ini >out 2>&1 &
bouncer=$!
for _ in $(seq 150); do
  kill -0 "$bouncer" 2>/dev/null || fail 'PgBouncer ended'
  if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
    echo ready
    # Standard input ends when the process that started this script ends, even if it is killed.
    while read -r _; do :; done
    exit 0
  fi
  sleep 0.1
done
fail 'PgBouncer did not accept connections within 15 s'
