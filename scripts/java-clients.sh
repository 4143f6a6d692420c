#!/usr/bin/env bash
# java-clients.sh builds e2e/java against each Kafka release the tests run:
# a current one and the oldest 3.x. Maven downloads go to its own cache.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v mvn >/dev/null && command -v javac >/dev/null || scripts/need.sh maven default-jdk-headless
for version in 4.1.1 3.0.0; do
	built="e2e/java/target/$version"
	[ -s "$built/classpath" ] && [ "$built/classpath" -nt e2e/java/pom.xml ] &&
		[ -z "$(find e2e/java/src -newer "$built/classpath" -name '*.java')" ] && continue
	mvn -q -B -f e2e/java/pom.xml -Dkafka.version="$version" compile
	touch "$built/classpath"
done
