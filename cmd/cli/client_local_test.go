package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/bench/cluster"
	"tidemark/bench/process"
)

// writeLocalCluster makes a local cluster of brokers in a new working directory; its
// metadata store has served.
func writeLocalCluster(t *testing.T, brokers ...cluster.Process) {
	t.Helper()
	t.Chdir(t.TempDir())
	dir := filepath.Join(clustersDir, localName)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	state, err := json.Marshal(cluster.State{Schema: "cluster/v1", Zookeeper: cluster.Real, Connect: "127.0.0.1:1", Brokers: brokers})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "state.json"), state, 0o666); err != nil {
		t.Fatal(err)
	}
}

// runningAt is a broker that runs at an address; its process is this one.
func runningAt(t *testing.T, id int32, address string) cluster.Process {
	t.Helper()
	self, err := process.Identify(os.Getpid(), filepath.Base(os.Args[0]))
	if err != nil {
		t.Fatal(err)
	}
	return cluster.Process{Broker: id, Address: address, ID: self}
}

// TestClientsAskTheBrokersThatRun: a command without --bootstrap finds the cluster of
// the default address although the broker there is down.
func TestClientsAskTheBrokersThatRun(t *testing.T) {
	var at started
	s := startService(t, &at, "broker", "--json", "--listen", "127.0.0.1:0", "--set", "log.dirs="+t.TempDir())
	defer s.end(t)
	writeLocalCluster(t, cluster.Process{Broker: 1, Address: defaultBootstrap}, runningAt(t, 2, at.Listener))
	if code, _, errout := runLine(t, "topics", "create", "found"); code != ExitOK {
		t.Fatalf("topics create: exit %d, said %q", code, errout)
	}
	if code, out, errout := runLine(t, "topics", "list", "--bootstrap", at.Listener); code != ExitOK || !strings.Contains(out, "found") {
		t.Errorf("topics list: exit %d, printed %q, said %q", code, out, errout)
	}
}

func TestWhereClientsAsk(t *testing.T) {
	local := localCluster{dir: "here", all: []string{defaultBootstrap, "127.0.0.1:9093", "127.0.0.1:9094"}}
	killed, elsewhere := local, localCluster{dir: "here", all: []string{"127.0.0.1:20001"}, running: []string{"127.0.0.1:20001"}}
	killed.running = killed.all[1:]
	const starts = "`tidemark broker` starts one"
	for _, test := range []struct {
		name            string
		local           localCluster
		bootstrap       string
		addresses, hint string
	}{
		{"no cluster", localCluster{}, "", defaultBootstrap, starts},
		{"one that is down", local, "", defaultBootstrap, "no broker of the cluster in here runs"},
		{"one without its first", killed, "", "127.0.0.1:9093,127.0.0.1:9094", "there run 127.0.0.1:9093,127.0.0.1:9094; `tidemark cluster status`"},
		{"the first by name", killed, defaultBootstrap, defaultBootstrap, "there run 127.0.0.1:9093,127.0.0.1:9094; `tidemark cluster status`"},
		{"a stranger by name", local, "127.0.0.1:7,127.0.0.1:8", "127.0.0.1:7,127.0.0.1:8", starts + ", `tidemark cluster up` goes on with the cluster in here"},
		{"one at other ports", elsewhere, "", defaultBootstrap, "The cluster in here is at --bootstrap 127.0.0.1:20001"},
	} {
		addresses := test.local.addresses(test.bootstrap)
		if got := strings.Join(addresses, ","); got != test.addresses {
			t.Errorf("%s: asks %s, want %s", test.name, got, test.addresses)
		}
		if got := test.local.hint(addresses); !strings.Contains(got, test.hint) {
			t.Errorf("%s: %q, want %q", test.name, got, test.hint)
		}
	}
}

func TestUnreadableLocalClusterIsNone(t *testing.T) {
	writeLocalCluster(t)
	if err := os.WriteFile(filepath.Join(clustersDir, localName, "state.json"), []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := findLocalCluster().addresses(""); len(got) != 1 || got[0] != defaultBootstrap {
		t.Errorf("asks %v", got)
	}
}
