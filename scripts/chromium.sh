#!/usr/bin/env bash
# Prints the path of Chromium, in which the tests of the web UI run. Installs the Debian package if it is missing, which
# requires root.
set -euo pipefail

fail() {
  echo "chromium: $1" >&2
  exit 1
}

find_browser() {
  command -v chromium || command -v chromium-browser || command -v google-chrome || true
}

browser=$(find_browser)
if [ -z "$browser" ]; then
  [ "$(id -u)" = 0 ] || fail 'Chromium is missing. Run as root: apt-get install chromium'
  apt='apt-get -qq -o DPkg::Lock::Timeout=120'
  $apt update >/dev/null || fail 'apt-get update failed'
  DEBIAN_FRONTEND=noninteractive $apt install -y --no-install-recommends chromium >/dev/null ||
    fail 'apt-get install failed'
  browser=$(find_browser)
  [ -n "$browser" ] || fail 'the package chromium has no chromium'
fi
echo "$browser"
