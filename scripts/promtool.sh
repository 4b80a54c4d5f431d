#!/usr/bin/env bash
# Runs promtool, the checker of Prometheus, with the given arguments. Installs the missing Debian package, which
# requires root.
set -euo pipefail

fail() {
  echo "promtool: $1" >&2
  exit 3
}

install_program() {
  command -v promtool >/dev/null && return
  [ "$(id -u)" = 0 ] || fail 'it is missing. Run as root: apt-get install prometheus'
  local apt='apt-get -qq -o DPkg::Lock::Timeout=120'
  $apt update >/dev/null || fail 'apt-get update failed'
  DEBIAN_FRONTEND=noninteractive $apt install -y --no-install-recommends prometheus >/dev/null 2>&1 ||
    fail 'apt-get install failed'
}

install_program
exec promtool "$@"
