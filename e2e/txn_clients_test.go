package e2e

import (
	"path/filepath"
	"testing"
)

// What a client of another library writes, aborts, copies and is fenced from is the
// same for each: 14 of 20 transactions of ten records are committed, all of them are
// copied, some in transactions that are aborted first, and an heir adds one.
const copiedByClients = 14*10 + 1

// checkTransactions has a client play its transactions on two new topics, and reads
// what comes of them with another one.
func checkTransactions(t *testing.T, b *brokerProcess, prefix string, play func(t *testing.T, prefix string)) {
	t.Helper()
	createTopic(t, b, prefix+"-in", 3)
	createTopic(t, b, prefix+"-out", 3)
	play(t, prefix)
	requireEachOnce(t, b, prefix+"-out", copiedByClients)
}

func TestTransactionsOfPythonClients(t *testing.T) {
	t.Parallel()
	python := filepath.Join("..", ".cache", "venv-clients", "bin", "python")
	need(t, python, "scripts/test-deps.sh")
	b := startBroker(t, quickGroups...)
	for _, library := range []string{"kafka-python", "confluent"} {
		t.Run(library, func(t *testing.T) {
			checkTransactions(t, b, library, func(t *testing.T, prefix string) {
				wantOks(t, run(t, "", python, "python/txn.py", library, b.Bootstrap, prefix), 3)
			})
		})
	}
}

func TestTransactionsOfKafkaJS(t *testing.T) {
	nodePath(t)
	b := startBroker(t, quickGroups...)
	checkTransactions(t, b, "kafkajs", func(t *testing.T, prefix string) {
		wantOks(t, run(t, "", "node", "node/txn.js", b.Bootstrap, prefix), 3)
	})
}
