#!/usr/bin/env bash
# install-zookeeper.sh puts Debian's zookeeper package on this machine: the real
# server and zkCli.sh, which the parity tests run the embedded server against.
# The server is not started. Only root installs; anybody else is told the command.
set -euo pipefail
cd "$(dirname "$0")/.."

exec scripts/need.sh zookeeper default-jre-headless
