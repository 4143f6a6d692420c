package e2e

import (
	"testing"

	"tidemark/bench/result"
)

// committing is a small suite of the driver that commits offsets.
const committing = `apiVersion: bench/v1
name: committing
defaults:
  blocks: 1
  workload: {driver: commits, partitions: 4, producers: 3, warmup: 100ms, window: 300ms, fetch: 0s, bytes: 16MiB}
  client: {max.in.flight.requests.per.connection: 4}
experiments:
  - name: most
    matrix: {axes: {broker.offsets.storage: [kafka, zookeeper]}}
  - name: some
    workload: {rate: 400/s}
    client: {batch.records: 2}
    matrix: {axes: {broker.offsets.storage: [kafka, zookeeper]}}
`

// TestBenchOfCommits: every offset that is committed is counted as acknowledged.
func TestBenchOfCommits(t *testing.T) {
	folder := runSuite(t, committing, 4)
	for _, r := range folder.Runs {
		if r.Status == result.Invalid || r.Ledger.Acked == 0 || r.Ledger.Failed != 0 || r.Ledger.Acked != r.Ledger.Accepted {
			t.Errorf("%s %s: %s %v, ledger %+v", r.Experiment, r.Label, r.Status, r.Reasons, r.Ledger)
		}
	}
}
