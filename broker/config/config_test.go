package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDefaultsAreTheTable(t *testing.T) {
	b := Default()
	for _, d := range Defs() {
		if got := d.Value(b); got != d.Default {
			t.Errorf("%s: got %q by default, want %q as documented", d.Name, got, d.Default)
		}
		if d.Doc == "" {
			t.Errorf("%s has no documentation", d.Name)
		}
		if got := b.Origin(d.Name).Source; got != SourceDefault {
			t.Errorf("%s: source is %s, want default", d.Name, got)
		}
	}
	if b.Listener.String() != "PLAINTEXT://127.0.0.1:9092" {
		t.Errorf("a broker without settings listens on %s, want loopback: it has no authentication", b.Listener)
	}
}

// TestNamesAreTold apart: a name that means two things would be read as either.
func TestNamesOccurOnce(t *testing.T) {
	seen := map[string]bool{}
	note := func(name string) {
		if seen[name] {
			t.Errorf("%s is there twice", name)
		}
		seen[name] = true
	}
	for _, d := range Defs() {
		note(d.Name)
		for _, o := range d.Others {
			note(o.Name)
		}
	}
	for name := range unserved {
		note(name)
	}
	for name := range refused {
		note(name)
	}
	for name := range unservedTopic {
		if _, ok := topicNames[name]; ok {
			t.Errorf("topic setting %s is both honoured and not", name)
		}
	}
}

func TestEveryTopicSettingReachesItsField(t *testing.T) {
	b := Default()
	other := map[Kind][]string{Bool: {"true", "false"}, Int: {"17", "5"}, Long: {"123456", "7"}, Double: {"0.25"}, List: {"compact", "*"}}
	for _, d := range TopicDefs() {
		values := other[d.Kind]
		if d.Kind == String {
			_, list, _ := strings.Cut(d.Valid, "one of ")
			values = append(strings.Split(list, ", "), "other")
		}
		changed := false
		for _, v := range values {
			if v == d.Default || v == "" {
				continue
			}
			topic, err := b.Topic(map[string]string{d.TopicName: v})
			if err != nil {
				continue
			}
			changed = true
			if got := d.TopicValue(&topic); got != v {
				t.Errorf("%s=%s: the topic has %q", d.TopicName, v, got)
			}
			if got := d.Value(b); got != d.Default {
				t.Errorf("%s=%s changed the broker's %s to %s", d.TopicName, v, d.Name, got)
			}
		}
		if !changed {
			t.Errorf("%s: none of %q was accepted", d.TopicName, values)
		}
	}
}

func TestTopicOverridesThatAreRefused(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"segment.byte", "1000", `did you mean "segment.bytes"?`},
		{"segment.bytes", "13", `"13" is not at least 14`},
		{"segment.bytes", "x", `"x" is not a whole number of 32 bits`},
		{"retention.ms", "-2", "not at least -1"},
		{"cleanup.policy", "", "not a list of delete, compact"},
		{"cleanup.policy", "delete,squash", "not a list of delete, compact"},
		{"storage.flush", "sometimes", "one of os, batch"},
		{"storage.append.engine", "", "not an append engine"},
		{"compression.gzip.level", "0", "without compression"},
		{"min.cleanable.dirty.ratio", "1.1", "not 0 to 1"},
		{"min.cleanable.dirty.ratio", "NaN", "not a number"},
		{"max.compaction.lag.ms", "0", "not at least 1"},
		{"listeners", "PLAINTEXT://127.0.0.1:1", "unknown"},
	} {
		_, err := Default().Topic(map[string]string{c.name: c.value})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%s: got error %v, want %q in it", c.name, c.value, err, c.want)
		}
	}
	if _, err := Default().Topic(map[string]string{"local.retention.ms": "1"}); err != nil {
		t.Errorf("a topic setting that Kafka has and we do not act upon: %v; Connect and Streams set such", err)
	}
}

func TestUnitsOfTime(t *testing.T) {
	for _, c := range []struct {
		props map[string]string
		want  int64
	}{
		{map[string]string{"log.retention.hours": "2"}, 7_200_000},
		{map[string]string{"log.retention.hours": "2", "log.retention.minutes": "3"}, 180_000},
		{map[string]string{"log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "4"}, 4},
		{map[string]string{"log.retention.hours": "-1"}, -1},
	} {
		b, err := Parse(c.props)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.TopicDefaults.RetentionMs; got != c.want {
			t.Errorf("%v: retention is %d ms, want %d", c.props, got, c.want)
		}
	}
	if _, err := Parse(map[string]string{"log.retention.hours": "9223372036854775807"}); err == nil {
		t.Error("hours that overflow milliseconds were accepted")
	}
}

// TestBoundsAreInTheUnitOfTheirName: what is wrong with a value is said in its unit.
func TestBoundsAreInTheUnitOfTheirName(t *testing.T) {
	for name, want := range map[string]string{
		"offsets.retention.minutes":               `"0" is not at least 1 minute`,
		"leader.imbalance.check.interval.seconds": `"0" is not at least 1 second`,
		"offsets.commit.timeout.ms":               `"0" is not at least 1 ms`,
	} {
		if _, err := Parse(map[string]string{name: "0"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s=0: got error %v, want %q in it", name, err, want)
		}
	}
}

func TestBrokerSettingsThatAreRefused(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"log.dris", "x", `did you mean "log.dirs"?`},
		{"zookeper.connect", "x", `did you mean "zookeeper.connect"?`},
		{"completely.different", "x", `unknown configuration name "completely.different"`},
		{"listeners", "SSL://127.0.0.1:9092", "only PLAINTEXT"},
		{"listeners", "PLAINTEXT://0.0.0.0:9092", "--allow-open-listener"},
		{"listeners", "PLAINTEXT://:9092", "--allow-open-listener"},
		{"listeners", "PLAINTEXT://127.0.0.1:65536", "not 0 to 65535"},
		{"metrics.listener", "0.0.0.0:80", "--allow-open-listener"},
		{"advertised.listeners", "PLAINTEXT://0.0.0.0:9092", "no address a client could connect to"},
		{"zookeeper.connect", "a:1/x,b:2", "behind the last server"},
		{"zookeeper.connect", "a", "not host:port"},
		{"authorizer.class.name", "kafka.security.authorizer.AclAuthorizer", "no authorization"},
		{"auto.create.topics.enable", "yes", "not true or false"},
	} {
		_, err := Parse(map[string]string{c.name: c.value})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%s: got error %v, want %q in it", c.name, c.value, err, c.want)
		}
	}
}

func TestAllProblemsAreReported(t *testing.T) {
	_, err := Parse(map[string]string{"log.dris": "x", "num.partitions": "0"})
	var unknown *UnknownNameError
	if !errors.As(err, &unknown) || unknown.Nearest != "log.dirs" || !strings.Contains(err.Error(), "num.partitions") {
		t.Errorf("got %v, want both problems", err)
	}
}

func TestChroot(t *testing.T) {
	b, err := Parse(map[string]string{"zookeeper.connect": "a:2181, b:2181/kafka/one"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a:2181", "b:2181"}, b.ZookeeperConnect); diff != "" || b.ZookeeperChroot != "/kafka/one" {
		t.Errorf("servers (-want +got):\n%s\nchroot %q, want /kafka/one", diff, b.ZookeeperChroot)
	}
}

// TestStockFile reads the server.properties that Kafka 3.9 ships.
func TestStockFile(t *testing.T) {
	b, err := Load("testdata/server.properties", []string{"listeners=PLAINTEXT://127.0.0.1:0", "num.partitions=4"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{
		"broker": b.BrokerID, "dirs": b.LogDirs, "partitions": b.NumPartitions, "retention": b.TopicDefaults.RetentionMs,
		"check": b.RetentionCheckInterval, "zookeeper": b.ZookeeperConnect, "receive": b.SocketReceiveBufferBytes,
	}
	want := map[string]any{
		"broker": int32(0), "dirs": []string{"/tmp/kafka-logs"}, "partitions": int32(4), "retention": int64(168 * 3_600_000),
		"check": 5 * time.Minute, "zookeeper": []string{"localhost:2181"}, "receive": int32(102400),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration differs (-want +got):\n%s", diff)
	}
	if got := b.Origin("num.partitions"); got.Source != SourceFlag {
		t.Errorf("num.partitions comes from %v, want the flag, which is stronger", got)
	}
	if got, want := b.Origin("retention.ms"), (Origin{Source: SourceDefault}); got != want {
		t.Errorf("a topic's name is no broker name: got origin %v", got)
	}
	if got, want := b.Origin("log.retention.ms").String(), "testdata/server.properties:100:1"; got != want {
		t.Errorf("log.retention.ms comes from %s, want %s", got, want)
	}
	if len(b.Warnings()) == 0 || !strings.Contains(strings.Join(b.Warnings(), "\n"), "num.network.threads has no effect here") {
		t.Errorf("warnings: got %q, want one for num.network.threads", b.Warnings())
	}
}

func TestPlacesInAFile(t *testing.T) {
	text := "# comment\n\n  log.dris = /tmp\\\n   /x\nnum.partitions:0\n! more\n\tmessage.max.bytes 1\\u00302\n"
	settings, err := ReadProperties("f", text)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range settings {
		got = append(got, s.Origin.String()+" "+s.Name+"="+s.Value)
	}
	want := []string{"f:3:3 log.dris=/tmp/x", "f:5:1 num.partitions=0", "f:7:2 message.max.bytes=102"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings differ (-want +got):\n%s", diff)
	}
	_, err = ParseSettings(settings)
	for _, want := range []string{`f:3:3: unknown configuration name "log.dris"; did you mean "log.dirs"?`, `f:5:1: num.partitions: "0" is not at least 1`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	if _, err := Load(filepath.Join(t.TempDir(), "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: got %v", err)
	}
	if _, err := Load("", []string{"listeners"}); err == nil || !strings.Contains(err.Error(), "name=value") {
		t.Errorf("--set without a value: got %v", err)
	}
}

func TestDynamicSettings(t *testing.T) {
	b := Default()
	next, err := b.With(map[string]string{"log.retention.ms": "5", "message.max.bytes": "99"})
	if err != nil {
		t.Fatal(err)
	}
	if next.TopicDefaults.RetentionMs != 5 || next.TopicDefaults.MaxMessageBytes != 99 || next.Origin("log.retention.ms").Source != SourceDynamic {
		t.Errorf("dynamic settings did not arrive: %+v", next.TopicDefaults)
	}
	if b.TopicDefaults.RetentionMs == 5 || b.Origin("log.retention.ms").Source != SourceDefault {
		t.Error("the original configuration changed")
	}
	for _, name := range []string{"listeners", "broker.id", "log.dris"} {
		if _, err := b.With(map[string]string{name: "1"}); err == nil {
			t.Errorf("%s was changed while running", name)
		}
	}
}

// TestUnknownNames: a name that is nearly right is told, a strange one is not.
func TestUnknownNames(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"broker.di", "broker.id"},
		{"listners", "listeners"},
		{"qqqqqqq", ""},
	} {
		var unknown *UnknownNameError
		if _, err := Parse(map[string]string{c.name: "1"}); !errors.As(err, &unknown) || unknown.Nearest != c.want {
			t.Errorf("%q: got %v, want %q as the nearest", c.name, err, c.want)
		}
	}
}

// FuzzReadProperties: whatever the text, every setting says where it is, and a
// configuration or an error comes of it.
func FuzzReadProperties(f *testing.F) {
	stock, err := os.ReadFile("testdata/server.properties")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(stock))
	f.Add("a\\\nb=c\\\\\n!x\n = \n\\u00zz")
	f.Fuzz(func(t *testing.T, text string) {
		settings, err := ReadProperties("f", text)
		if err != nil {
			return
		}
		for _, s := range settings {
			if s.Origin.Line < 1 || s.Origin.Line > strings.Count(text, "\n")+1 || s.Origin.Column < 1 {
				t.Errorf("%q is said to be at %v", s.Name, s.Origin)
			}
		}
		b, err := ParseSettings(settings)
		if (b == nil) == (err == nil) {
			t.Errorf("got configuration %v and error %v", b, err)
		}
	})
}
