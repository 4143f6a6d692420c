package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// The clients of other languages run a script of their own that checks itself;
// the codec of what they wrote is checked from outside.

func TestPythonClients(t *testing.T) {
	t.Parallel()
	python := filepath.Join("..", ".cache", "venv-clients", "bin", "python")
	need(t, python, "scripts/test-deps.sh")
	b := startBroker(t)
	for _, client := range []string{"kafka-python", "confluent"} {
		t.Run(client, func(t *testing.T) {
			wantOks(t, run(t, "", python, "python/clients.py", client, b.Bootstrap, client), len(codecs)+1)
			for _, codec := range codecs[1:] {
				requireCodecOnTheWire(t, b, client+"-"+codec, codec)
			}
		})
	}
}

func TestKafkaJS(t *testing.T) {
	nodePath(t)
	b := startBroker(t)
	wantOks(t, run(t, "", "node", "node/kafkajs.js", b.Bootstrap, "kafkajs"), 3)
	requireCodecOnTheWire(t, b, "kafkajs-gzip", "gzip")
}

// nodePath lets node find the client, or skips the test.
func nodePath(t *testing.T) {
	t.Helper()
	modules := filepath.Join("..", ".cache", "node", "node_modules")
	need(t, modules, "scripts/node-clients.sh")
	absolute, err := filepath.Abs(modules)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("NODE_PATH", absolute)
}

func wantOks(t *testing.T, out string, want int) {
	t.Helper()
	if got := strings.Count(out, "ok "); got != want {
		t.Errorf("want %d lines of ok, got %d:\n%s", want, got, out)
	}
}
