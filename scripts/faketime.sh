#!/usr/bin/env bash
# Prints the path of libfaketime, which gives a process a clock that tests can set. Installs the Debian package if it is
# missing, which requires root.
set -euo pipefail

# The variant for programs with threads, such as Node.
find_library() {
  find /usr/lib -name libfaketimeMT.so.1 -print -quit 2>/dev/null
}

fail() {
  echo "faketime: $1" >&2
  exit 1
}

library=$(find_library)
if [ -z "$library" ]; then
  [ "$(id -u)" = 0 ] || fail 'libfaketime is missing. Run as root: apt-get install libfaketime'
  apt='apt-get -qq -o DPkg::Lock::Timeout=120'
  $apt update >/dev/null || fail 'apt-get update failed'
  DEBIAN_FRONTEND=noninteractive $apt install -y --no-install-recommends libfaketime >/dev/null ||
    fail 'apt-get install failed'
  library=$(find_library)
  [ -n "$library" ] || fail 'the package libfaketime has no libfaketimeMT.so.1'
fi
echo "$library"
