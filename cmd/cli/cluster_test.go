package cli

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tidemark/bench/cluster"
	"tidemark/bench/fault/proxy"
	"tidemark/bench/process"
	"tidemark/internal/golden"
)

// hurt is a cluster with one broker down, one paused and a link cut.
func hurt() *cluster.Status {
	start := time.Unix(1_700_000_000, 0)
	return &cluster.Status{
		Dir: "/srv/lab", Started: start.Add(-125 * time.Second), Zookeeper: "127.0.0.1:10797", Store: process.Running, Mesh: process.Running, Controller: 2,
		Brokers: []cluster.BrokerStatus{
			{ID: 1, Address: "127.0.0.1:9092", Pid: 21582, State: process.Running, Leads: 2, Replicas: 4, InSync: 4},
			{ID: 2, Address: "127.0.0.1:9093", Pid: 21583, State: process.Running, Leads: 1, Replicas: 4, InSync: 3, Error: "ask broker 2: connection refused"},
			{ID: 3, Address: "127.0.0.1:9094", Pid: 21584, State: process.Gone, Replicas: 4, InSync: 1},
			{ID: 4, Address: "127.0.0.1:9095", Pid: 21585, State: process.Paused},
		},
		Faults: []proxy.Fault{
			{Flow: proxy.Flow{From: "1", To: "2"}, Rule: proxy.Rule{Mode: proxy.Hang}, Start: start.Add(-12 * time.Second)},
			{Flow: proxy.Flow{From: "2", To: "1"}, Rule: proxy.Rule{Mode: proxy.Hang}, Start: start.Add(-12 * time.Second)},
			{Flow: proxy.Flow{From: "client", To: "1"}, Rule: proxy.Rule{Delay: 20 * time.Millisecond, Jitter: 5 * time.Millisecond}, Start: start.Add(-90 * time.Second)},
		},
		Partitions: []cluster.PartitionStatus{
			{Topic: "clicks", Partition: 0, Strategy: "isr", Leader: 1, LeaderEpoch: 3, MinISR: 2, ISR: []int32{1, 2}, OSR: []int32{3}, Admits: true,
				Waiting: "2 fetched 1041200 (waited for another 6.2s), 3 fetched 9100 (out of sync, not waited for)",
				Replicas: []cluster.ReplicaStatus{
					{Broker: 1, Role: "leader", InSync: true, LeaderEpoch: 3, End: 1_041_337, Watermark: 1_041_200, Lag: -1},
					{Broker: 2, Role: "follower", InSync: true, LeaderEpoch: 3, End: 1_041_200, Watermark: 1_041_180, Lag: 137, BehindMs: 300},
					{Broker: 3, LeaderEpoch: -1, End: 9_100, Watermark: -1, Lag: 1_032_237, BehindMs: 84_000}}},
			{Topic: "clicks", Partition: 1, Strategy: "isr", Leader: 2, LeaderEpoch: 7, MinISR: 2, ISR: []int32{2}, OSR: []int32{1, 3}, Pending: true,
				Replicas: []cluster.ReplicaStatus{
					{Broker: 1, Role: "leader", LeaderEpoch: 6, End: 12, Watermark: 12, Lag: -1},
					{Broker: 2, Role: "leader", InSync: true, LeaderEpoch: 7, End: 12, Watermark: 12, Lag: -1},
					{Broker: 3, LeaderEpoch: -1, End: -1, Watermark: -1, Lag: -1}}},
			{Topic: "orders", Partition: 0, Strategy: "quorum", Leader: -1, LeaderEpoch: 2, MinISR: 2, ISR: []int32{3}, OSR: []int32{1}, Waiting: "nobody leads",
				Replicas: []cluster.ReplicaStatus{
					{Broker: 1, Role: "offline", LeaderEpoch: 1, End: 0, Watermark: 0, Lag: 0},
					{Broker: 3, InSync: true, LeaderEpoch: -1, End: -1, Watermark: -1, Lag: -1}}},
		},
	}
}

func TestStatusTable(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	var b bytes.Buffer
	if err := printClusterStatus(&b, hurt(), now, 0); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/cluster_hurt.txt", b.String())
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > 96 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	s := hurt()
	s.Partitions, s.Faults, s.Mesh = nil, nil, process.Gone
	b.Reset()
	if err := printClusterStatus(&b, s, now, 0); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.Contains(got, "no partitions to show") || !strings.Contains(got, "the proxies are gone") {
		t.Errorf("without partitions and proxies:\n%s", got)
	}
	for i := range s.Brokers {
		s.Brokers[i].State = process.Gone
	}
	s.Store = process.Gone
	b.Reset()
	if err := printClusterStatus(&b, s, now, 0); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.HasPrefix(got, "cluster in /srv/lab, down\n") || strings.Contains(got, "up for") || strings.Contains(got, "proxies") {
		t.Errorf("of a cluster that is down:\n%s", got)
	}
}

func TestWelcome(t *testing.T) {
	s := &cluster.State{Connect: "127.0.0.1:10797", Proxy: true, EarlierTraces: "traces-1", Settings: []string{"default.replication.factor=2", "min.insync.replicas=2"}, Brokers: []cluster.Process{
		{Broker: 1, Address: "127.0.0.1:19092", ID: process.ID{Pid: 4711}, Metrics: "127.0.0.1:36049"},
		{Broker: 2, Address: "127.0.0.1:19093", ID: process.ID{Pid: 4712}, Metrics: "127.0.0.1:36050"}}}
	var b bytes.Buffer
	if err := printStarted(&b, &clusterFlags{name: "second"}, "/srv/second", s, true); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/cluster_up.txt", b.String())
}

func TestLinkEnds(t *testing.T) {
	s := &cluster.State{Brokers: []cluster.Process{{Broker: 1}, {Broker: 2}, {Broker: 3}}}
	for _, test := range []struct {
		a, b   string
		oneWay bool
		want   string
	}{
		{"1", "2", false, "1→2 2→1"},
		{"1", "2", true, "1→2"},
		{"zk", "1", true, "zk→1"},
		{"client", "3", false, "client→3 3→client"},
		{"1", "all", true, "1→2 1→3 1→zk 1→client"},
		{"all", "2", true, "1→2 3→2 zk→2 client→2"},
		{"4", "1", false, "no end of a link"},
		{"zk", "client", false, "one of them must be a broker"},
		{"1", "1", false, "want two ends"},
		{"all", "all", false, "want two ends"},
		{"all", "zk", false, "goes with a broker"},
	} {
		l := linkFlags{oneWay: test.oneWay}
		flows, err := l.flows(s, test.a, test.b)
		var got []string
		for _, f := range flows {
			got = append(got, f.String())
		}
		if err != nil {
			got = []string{err.Error()}
		}
		if text := strings.Join(got, " "); !strings.Contains(text, test.want) {
			t.Errorf("%s %s: %s, want %s", test.a, test.b, text, test.want)
		}
	}
}

func TestClusterLines(t *testing.T) {
	dir := t.TempDir()
	defer func() {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v (%v)", left, err)
		}
	}()
	for _, test := range []struct {
		line string
		code int
		want string
	}{
		{"cluster stauts", ExitUsage, `did you mean "status"?`},
		{"cluster kill", ExitUsage, "accepts 1 arg"},
		{"cluster kill one --dir " + dir, ExitUsage, "want its id"},
		{"cluster kill 1 --dir " + dir, ExitFailed, "`tidemark cluster up` starts one"},
		{"cluster status --dir " + dir, ExitFailed, "no cluster in"},
		{"cluster link 1 2 --rate fast", ExitUsage, "want bytes each second"},
		{"cluster link 1 2 --reset --half-open", ExitUsage, "want one of them"},
		{"cluster link 1 2 --delay -1s", ExitUsage, "negative"},
		{"cluster up --set replication.strategy=quorom --dir " + dir, ExitUsage, `did you mean "quorum"?`},
		{"cluster up --set storage.append.engine=mmap --dir " + dir, ExitUsage, `did you mean "mapped"?`},
		{"cluster up --set min.insync.replicas=two --dir " + dir, ExitUsage, "min.insync.replicas"},
		{"cluster up --brokers 0 --dir " + dir, ExitUsage, "want 1 to 100"},
		{"cluster up --port 70000 --dir " + dir, ExitUsage, "of the first broker"},
		{"cluster up --zookeeper nowhere --dir " + dir, ExitUsage, "host:port"},
		{"cluster up --set broker.id=7 --dir " + dir, ExitUsage, "the cluster gives each broker its own"},
		{"cluster status --name a/b", ExitUsage, "--dir takes a directory"},
		{"cluster down --name ..", ExitUsage, "want a plain name"},
		{"cluster up --set default.replication.facto=1", ExitUsage, `did you mean "default.replication.factor"?`},
	} {
		code, out, errout := runLine(t, strings.Fields(test.line)...)
		if code != test.code || !strings.Contains(errout, test.want) || out != "" {
			t.Errorf("tidemark %s: exit %d, printed %q, said %q; want exit %d and %q", test.line, code, out, errout, test.code, test.want)
		}
	}
}

func TestStatusOfMissingTopics(t *testing.T) {
	s := hurt()
	for topic, want := range map[string]string{"clicks": "", "click": `did you mean "clicks"?`, "nosuch": "--watch waits for it"} {
		err := missingTopic(s, []string{"orders", topic})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("topic %s: %v, want %q", topic, err, want)
		}
	}
	for i := range s.Brokers {
		s.Brokers[i].State = process.Gone
	}
	if err := missingTopic(s, []string{"nosuch"}); err != nil {
		t.Errorf("nobody tells which topics there are: %v", err)
	}
	if got := onlyTopics(hurt(), []string{"orders"}, false).Partitions; len(got) != 1 || got[0].Topic != "orders" {
		t.Errorf("of orders: %+v", got)
	}
}

// TestUpAsBefore: what kept data depend on is as before where no flag says it, and what
// a flag says against them is refused.
func TestUpAsBefore(t *testing.T) {
	writeLocalCluster(t, make([]cluster.Process, 5)...)
	for line, want := range map[string]cluster.Options{
		"":                     {Brokers: 5, Zookeeper: cluster.Real},
		"--brokers 7":          {Brokers: 7, Zookeeper: cluster.Real},
		"--zookeeper embedded": {Brokers: 5, Zookeeper: cluster.Embedded},
	} {
		f := &clusterFlags{name: localName}
		c := newClusterUpCommand(&App{}, f)
		if err := c.ParseFlags(strings.Fields(line)); err != nil {
			t.Fatal(err)
		}
		o := cluster.Options{Brokers: 3, Zookeeper: cluster.Embedded}
		if c.Flags().Changed("brokers") {
			o.Brokers = want.Brokers
		}
		f.asBefore(c, &o)
		if o.Brokers != want.Brokers || o.Zookeeper != want.Zookeeper {
			t.Errorf("up %s: %d brokers and %s, want %d and %s", line, o.Brokers, o.Zookeeper, want.Brokers, want.Zookeeper)
		}
	}
	code, _, errout := runLine(t, "cluster", "up", "--brokers", "4", "--port", "0")
	if code != ExitUsage || !strings.Contains(errout, "`tidemark cluster down` deletes it") {
		t.Errorf("with fewer brokers: exit %d, said %q", code, errout)
	}
}

// TestUpTwice names the cluster that runs.
func TestUpTwice(t *testing.T) {
	writeLocalCluster(t, runningAt(t, 1, defaultBootstrap))
	dir := filepath.Join(clustersDir, localName)
	code, _, errout := runLine(t, "cluster", "up", "--port", "0", "--dir", dir)
	if code != ExitFailed || !strings.Contains(errout, "`tidemark cluster down --dir "+dir+"` ends it") {
		t.Errorf("exit %d, said %q", code, errout)
	}
}

func TestTakenPort(t *testing.T) {
	ports, err := cluster.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	port := ports[0]
	if got := taken(port, 1); got != 0 {
		t.Errorf("port %d is free, and taken says %d", port, got)
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := taken(port-1, 2); got != port && got != port-1 {
		t.Errorf("of the two ports up to %d, %d is taken", port, got)
	}
}

// TestLinkWords: what is told of a link is what makes it so.
func TestLinkWords(t *testing.T) {
	for want, r := range map[string]proxy.Rule{
		"1 ↔ 2: cut; `tidemark cluster heal` ends it":                                   {Mode: proxy.Hang},
		"1 ↔ 2: --half-open --slice 9; `tidemark cluster heal` ends it":                 {Mode: proxy.HalfOpen, SliceBytes: 9},
		"1 ↔ 2: --reset; `tidemark cluster heal` ends it":                               {Mode: proxy.Reset},
		"1 ↔ 2: --delay 20ms --jitter 5ms --rate 1MiB; `tidemark cluster heal` ends it": {Delay: 20 * time.Millisecond, Jitter: 5 * time.Millisecond, BytesPerSecond: 1 << 20},
		"1 ↔ 2: passes": {},
	} {
		if got := linkSaid(&linkFlags{}, []string{"1", "2"}, r); got != want {
			t.Errorf("%+v: %s, want %s", r, got, want)
		}
	}
}

func TestDownTellsOfTraces(t *testing.T) {
	dir := t.TempDir()
	traces := filepath.Join(dir, "traces")
	if err := os.WriteFile(filepath.Join(dir, "state.json"), []byte(`{"schema":"cluster/v1"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(traces, 0o755); err != nil {
		t.Fatal(err)
	}
	code, out, errout := runLine(t, "cluster", "down", "--dir", dir)
	if want := "its data deleted; its traces stay: tidemark log trace " + traces; code != ExitOK || !strings.Contains(out, want) {
		t.Errorf("exit %d, printed %q, said %q; want %q", code, out, errout, want)
	}
	if _, err := os.Stat(traces); err != nil {
		t.Error(err)
	}
}
