# Bare `make` lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash
BIN := bin/tidemark
# The packages whose tables write pages of docs/reference.
REFERENCE = $(shell grep -rl --include='*_test.go' '^func TestReference' . | xargs -r -n1 dirname | sort -u)
TOOL := go tool -modfile=tools/go.mod

## bench: build, run the quick suite (about 13 minutes; writes up to about 410 GB, 17 at one time), print the table, write the report
bench: build
	$(BIN) bench run quick

## bench-smoke: the same in at most 2 minutes; proves that it works, not what is faster
bench-smoke: build
	$(BIN) bench run smoke

## bench-full: every cell sustained past the page cache's comfort
bench-full: build
	$(BIN) bench run full

## bench-durability: what a power cut loses against throughput, per flush policy and append engine (at most 12 minutes)
bench-durability: build
	$(BIN) bench run durability

## bench-offsets: what it costs to commit offsets, in Kafka's topic and in ZooKeeper (at most 5 minutes)
bench-offsets: build
	$(BIN) bench run offsets

## bench-transactions: what transactions cost an idempotent producer (at most 4 minutes)
bench-transactions: build
	$(BIN) bench run transactions

## bench-replication: what copies cost, and what each strategy makes of one slow follower (at most 15 minutes)
bench-replication: build
	$(BIN) bench run replication

## bench-compare: compare two result folders, A=results/... B=results/...
bench-compare: build
	$(BIN) bench compare $(A) $(B)

## report: write the report of the newest run again
report: build
	$(BIN) report results/latest

## doctor: what this machine is, and what on it disturbs measurements
doctor: build
	$(BIN) doctor --calibrate

## broker: start a broker on 127.0.0.1:9092 with its data in ./data
broker: build
	$(BIN) broker --set log.dirs=data

## cluster: start three brokers that run on in the background; bin/tidemark cluster down ends them
cluster: build
	$(BIN) cluster up --proxy

## build: the one binary, bin/tidemark
build:
	@mkdir -p bin
	go build -buildvcs=auto -o $(BIN) ./cmd/tidemark

## test: everything, against real clients; as root it installs what they need
test: check
	scripts/test-deps.sh
	scripts/test.sh

## test-full: the same with longer proofs (200 kills, 60 power cuts, an hour of seeds, 10 minutes a fuzz target)
test-full: check
	scripts/test-deps.sh
	TIDEMARK_FULL=1 SIMTIME=60m FUZZTIME=10m scripts/test.sh

## test-ecosystem: Kafka Streams and Flink, killed again and again, exactly once (Maven fetches them; at most 10 minutes)
test-ecosystem:
	scripts/ecosystem.sh

## test-fast: unit and conformance tests only
test-fast:
	go test $$(go list ./... | grep -v /e2e)

## check: formatting, vet, staticcheck, known vulnerabilities, arrows, generated pages
check:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "not gofmt-ed:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	go vet ./...
	go vet -tags ecosystem ./e2e/ecosystem
	$(TOOL) staticcheck ./...
	$(TOOL) staticcheck -tags ecosystem ./e2e/ecosystem
	scripts/govulncheck.sh
	go test ./internal/archtest
	$(MAKE) --no-print-directory docs-check

## docs: write the generated pages of docs/reference again
docs:
	go test $(REFERENCE) -run '^TestReference' -rewrite

## docs-check: fail where a page of docs/reference is not what the code says
docs-check:
	go test $(REFERENCE) -run '^TestReference'

## clean: remove what was built and cached, keep results
clean:
	rm -rf bin .cache e2e/java/target e2e/ecosystem/java/target

help:
	@echo "Tidemark: a Kafka-protocol broker with swappable engines, and the bench around it."
	@echo
	@sed -n 's/^## \([a-z-]*\): \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s'|'

.PHONY: $(shell sed -n 's/^## \([a-z-]*\):.*/\1/p' $(MAKEFILE_LIST)) help
