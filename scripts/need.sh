#!/usr/bin/env bash
# need.sh PACKAGE... makes sure Debian packages are installed.
# As root it installs what is missing; otherwise it names the command and exits 3.
set -euo pipefail

missing=()
for package in "$@"; do
	dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ]; then
	echo "need.sh: missing ${missing[*]}; run: sudo apt-get install ${missing[*]}" >&2
	exit 3
fi
export DEBIAN_FRONTEND=noninteractive
wait_for_lock=(-o DPkg::Lock::Timeout=300)
echo "need.sh: installing ${missing[*]}" >&2
apt-get "${wait_for_lock[@]}" install -y -qq "${missing[@]}" >/dev/null 2>&1 || {
	apt-get "${wait_for_lock[@]}" update -qq >&2
	apt-get "${wait_for_lock[@]}" install -y -qq "${missing[@]}" >/dev/null
}
