#!/usr/bin/env bash
# test-deps.sh fetches what the tests run against: the real ZooKeeper, kcat,
# strace, Chromium, the Java, Python and Node clients; and a C compiler where there
# is none. What it cannot get it names; the tests that want it then skip and say so.
set -uo pipefail
cd "$(dirname "$0")/.."

failed=0
want() {
	if ! "$@" >/tmp/tidemark-deps.$$ 2>&1; then
		echo "test-deps: $*: not available, its tests will skip" >&2
		sed 's/^/    /' /tmp/tidemark-deps.$$ | tail -3 >&2
		failed=1
	fi
	rm -f /tmp/tidemark-deps.$$
}

[ "$(go env CGO_ENABLED)" = 1 ] || want scripts/need.sh gcc libc6-dev # for the race detector
want scripts/need.sh kcat strace
want scripts/install-zookeeper.sh
want scripts/install-chromium.sh
want scripts/java-clients.sh
want scripts/node-clients.sh
want scripts/python-venv.sh clients kafka-python==3.0.12 confluent-kafka==2.16.1 python-snappy==0.7.3 lz4==4.4.5 zstandard==0.25.0 crc32c==2.9.post0
want scripts/python-venv.sh kazoo kazoo==2.10.0
[ $failed -eq 0 ] && echo "test-deps: everything is here"
exit 0
