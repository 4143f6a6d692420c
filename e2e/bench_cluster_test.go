package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"tidemark/bench/result"
)

// copied is a small suite of what runs of several brokers have: copies, a mesh with
// a slow follower, and a strategy whose leaders are not all the same.
const copied = `apiVersion: bench/v1
name: copied
defaults:
  blocks: 1
  workload: {brokers: 3, replication.factor: 3, partitions: 4, record.size: 1KiB, warmup: 100ms, window: 500ms, fetch: 200ms, bytes: 16MiB}
  client: {acks: all, batch.size: 64KiB}
  topic: {min.insync.replicas: 2}
experiments:
  - name: well
  - name: slow
    workload: {mesh: true, rate: 2k/s, fetch: 0s, follower.rate: 200/s}
    client: {batch.records: 4}
    matrix: {axes: {replication.strategy: [quorum, async]}}
`

// TestBenchOfACluster: every record is counted and stored, the brokers' processor
// time is summed, and each leaves its metrics, with a slow follower and without.
func TestBenchOfACluster(t *testing.T) {
	folder := runSuite(t, copied, 3)
	for _, r := range folder.Runs {
		if r.Status == result.Invalid || r.Ledger.Stored != r.Ledger.Acked || r.Ledger.Acked == 0 || r.Produce.CPU.BrokerNs() <= 0 {
			t.Errorf("%s %s: %s %v, ledger %+v, %d ns of the brokers", r.Experiment, r.Label, r.Status, r.Reasons, r.Ledger, r.Produce.CPU.BrokerNs())
		}
		if r.Produce.CPU.StoreNs == nil {
			t.Errorf("%s %s: the metadata store's processor time is not known", r.Experiment, r.Label)
		}
		for _, name := range []string{"1-metrics.prom", "3-metrics.prom"} {
			if _, err := os.Stat(filepath.Join(result.RunDir(folder.Dir, r.Cell, r.Block), "broker", name)); err != nil {
				t.Error(err)
			}
		}
	}
}
