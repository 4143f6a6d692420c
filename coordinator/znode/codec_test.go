package znode

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var kafkaID = func() TopicID {
	id, err := ParseTopicID("jqUFDBGGR1qEcq3cRVjJIA")
	if err != nil {
		panic(err)
	}
	return id
}()

// TestKafkasBytes holds what Kafka 3.9 writes, byte for byte.
func TestKafkasBytes(t *testing.T) {
	at := time.UnixMilli(1700000000000)
	for want, got := range map[string][]byte{
		`{"version":5,"host":"h1","port":9092,"endpoints":["PLAINTEXT://h1:9092"],"jmx_port":-1,"timestamp":"1700000000000","rack":"r1","listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"features":{}}`: encodeBroker(Broker{
			Host: "h1", Port: 9092, Endpoints: []string{"PLAINTEXT://h1:9092"}, Timestamp: at, Rack: "r1",
			SecurityProtocols: map[string]string{"PLAINTEXT": "PLAINTEXT"},
		}),
		`{"version":3,"topic_id":"jqUFDBGGR1qEcq3cRVjJIA","partitions":{"0":[1,2,3],"1":[2,3,1]},"adding_replicas":{},"removing_replicas":{}}`: encodeTopic(Topic{
			ID: kafkaID, Partitions: map[int32][]BrokerID{0: {1, 2, 3}, 1: {2, 3, 1}},
		}),
		`{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2,3]}`: encodeState(PartitionState{
			Leader: 1, ISR: Members(1, 2, 3), ControllerEpoch: 1,
		}),
		`{"controller_epoch":1,"leader":-1,"version":1,"leader_epoch":2,"isr":[3],"leader_recovery_state":1}`: encodeState(PartitionState{
			Leader: NoLeader, LeaderEpoch: 2, ISR: Members(3), ControllerEpoch: 1, Recovering: true,
		}),
		`{"version":2,"brokerid":1,"timestamp":"1700000000000","kraftControllerEpoch":-1}`: encodeController(Controller{BrokerID: 1, Timestamp: at}),
		`{"version":1,"broker":1,"block_start":"0","block_end":"999"}`:                     encodeProducerIDBlock(ProducerIDBlock{1, 0, 999}),
		`{"version":1,"config":{"cleanup.policy":"compact","retention.ms":"60000"}}`:       encodeConfig(map[string]string{"retention.ms": "60000", "cleanup.policy": "compact"}, nil),
		`{"version":2,"entity_path":"topics/T"}`:                                           encodeChange(Change{Entity: Topics, Name: "T"}),
		`{"version":1,"config":{"x":"<&>"}}`:                                               encodeConfig(map[string]string{"x": "<&>"}, nil),
	} {
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("bytes differ from Kafka's (-want +got):\n%s", diff)
		}
	}
}

func TestOlderVersionsAreRead(t *testing.T) {
	b, err := decodeBroker(1, []byte(`{"version":1,"host":"h","port":9092,"jmx_port":-1,"timestamp":"5"}`))
	want := Broker{ID: 1, Host: "h", Port: 9092, Endpoints: []string{"PLAINTEXT://h:9092"},
		SecurityProtocols: map[string]string{"PLAINTEXT": "PLAINTEXT"}, Timestamp: time.UnixMilli(5), CleanEpoch: -1}
	if diff := cmp.Diff(want, b); diff != "" || err != nil {
		t.Errorf("broker version 1: error %v, (-want +got):\n%s", err, diff)
	}
	topic, err := decodeTopic("T", []byte(`{"version":1,"partitions":{"0":[1]}}`))
	if err != nil || !topic.ID.IsZero() || len(topic.Partitions) != 1 {
		t.Errorf("topic version 1: %+v, error %v", topic, err)
	}
	change, err := decodeChange([]byte(`{"version":1,"entity_type":"topics","entity_name":"T"}`))
	if err != nil || change.Entity != Topics || change.Name != "T" {
		t.Errorf("change version 1: %+v, error %v", change, err)
	}
}

// TestUnknownKeysSurvive: a newer Kafka's keys stay when an older one rewrites.
func TestUnknownKeysSurvive(t *testing.T) {
	const topic = `{"version":3,"topic_id":"jqUFDBGGR1qEcq3cRVjJIA","partitions":{"0":[1]},"adding_replicas":{},"removing_replicas":{},"confluent":{"a":[1,2]},"z":null}`
	parsed, err := decodeTopic("T", []byte(topic))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(topic, string(encodeTopic(parsed))); diff != "" {
		t.Errorf("topic rewritten (-want +got):\n%s", diff)
	}
	const state = `{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1],"elr":[2],"elr_epochs":{"2":77}}`
	s, err := decodeState([]byte(state))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(state, string(encodeState(s))); diff != "" {
		t.Errorf("state rewritten (-want +got):\n%s", diff)
	}
	const config = `{"version":1,"config":{"a":"b"},"comment":"kept"}`
	values, unknown, err := decodeConfig([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config, string(encodeConfig(values, unknown))); diff != "" {
		t.Errorf("config rewritten (-want +got):\n%s", diff)
	}
}

func TestNonsenseIsRefused(t *testing.T) {
	decoders := map[string]func([]byte) error{
		"broker":     func(b []byte) error { _, err := decodeBroker(1, b); return err },
		"topic":      func(b []byte) error { _, err := decodeTopic("t", b); return err },
		"state":      func(b []byte) error { _, err := decodeState(b); return err },
		"controller": func(b []byte) error { _, err := decodeController(b); return err },
		"block":      func(b []byte) error { _, err := decodeProducerIDBlock(b); return err },
		"config":     func(b []byte) error { _, _, err := decodeConfig(b); return err },
		"change":     func(b []byte) error { _, err := decodeChange(b); return err },
		"cluster id": func(b []byte) error { _, err := decodeClusterID(b); return err },
	}
	for name, decode := range decoders {
		for _, text := range []string{`null`, `[]`, `{}`, `{"version":`, `"x"`, `{"version":"x"}`, "\x00"} {
			if decode([]byte(text)) == nil {
				t.Errorf("%s accepts %q", name, text)
			}
		}
	}
	for text, decode := range map[string]func([]byte) error{
		`{"version":3,"partitions":{"-1":[1]}}`:                                  decoders["topic"],
		`{"version":3,"partitions":{"01":[1]}}`:                                  decoders["topic"],
		`{"version":3,"partitions":{"0":[1,1]}}`:                                 decoders["topic"],
		`{"version":3,"partitions":{"0":[-3]}}`:                                  decoders["topic"],
		`{"version":3,"partitions":{"0":[4294967296]}}`:                          decoders["topic"],
		`{"version":3,"topic_id":"short","partitions":{}}`:                       decoders["topic"],
		`{"leader":1,"leader_epoch":0,"isr":[2,2],"controller_epoch":1}`:         decoders["state"],
		`{"leader":1,"leader_epoch":99999999999,"isr":[2],"controller_epoch":1}`: decoders["state"],
		`{"version":1,"broker":1,"block_start":"10","block_end":"9"}`:            decoders["block"],
		`{"version":2,"entity_path":"nonsense/x"}`:                               decoders["change"],
		`{"version":2,"entity_path":"topics/"}`:                                  decoders["change"],
	} {
		if decode([]byte(text)) == nil {
			t.Errorf("accepted: %s", text)
		}
	}
}

// FuzzDecode feeds every decoder: what one accepts, it must write back to
// something that it reads as the same.
func FuzzDecode(f *testing.F) {
	for kind, seed := range []string{
		`{"version":5,"host":"h1","port":9092,"endpoints":["PLAINTEXT://h1:9092"],"timestamp":"1700000000000","rack":"r1","listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"features":{}}`,
		`{"version":3,"topic_id":"jqUFDBGGR1qEcq3cRVjJIA","partitions":{"0":[1,2,3]},"adding_replicas":{"0":[3]},"removing_replicas":{},"more":1}`,
		`{"controller_epoch":1,"leader":-2,"version":1,"leader_epoch":0,"isr":[1,2,3],"leader_recovery_state":1,"elr":[]}`,
		`{"version":2,"brokerid":1,"timestamp":"1700000000000","kraftControllerEpoch":-1}`,
		`{"version":1,"broker":1,"block_start":"0","block_end":"999"}`,
		`{"version":1,"config":{"retention.ms":"60000"}}`,
		`{"version":2,"entity_path":"users/alice/clients/app"}`,
		`{"version":"1","id":"rAbcDEfgQ8-xyz0123456w"}`,
	} {
		f.Add(byte(kind), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		same := func(first, second any, err error) {
			if diff := cmp.Diff(first, second, cmp.AllowUnexported(Topic{}, PartitionState{}), cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Fatalf("%q written and read again: error %v, (-first +second):\n%s", data, err, diff)
			}
		}
		switch kind % 8 {
		case 0:
			if b, err := decodeBroker(1, data); err == nil && !b.Timestamp.IsZero() && len(b.Endpoints) > 0 {
				again, err := decodeBroker(1, encodeBroker(b))
				same(b, again, err)
			}
		case 1:
			if v, err := decodeTopic("t", data); err == nil {
				again, err := decodeTopic("t", encodeTopic(v))
				canonical(v.unknown)
				same(v, again, err)
			}
		case 2:
			if v, err := decodeState(data); err == nil {
				again, err := decodeState(encodeState(v))
				canonical(v.unknown)
				same(v, again, err)
			}
		case 3:
			if v, err := decodeController(data); err == nil && !v.Timestamp.IsZero() {
				again, err := decodeController(encodeController(v))
				same(v, again, err)
			}
		case 4:
			if v, err := decodeProducerIDBlock(data); err == nil {
				again, err := decodeProducerIDBlock(encodeProducerIDBlock(v))
				same(v, again, err)
			}
		case 5:
			if v, unknown, err := decodeConfig(data); err == nil {
				again, _, err := decodeConfig(encodeConfig(v, unknown))
				same(v, again, err)
			}
		case 6:
			if v, err := decodeChange(data); err == nil {
				again, err := decodeChange(encodeChange(v))
				same(v, again, err)
			}
		case 7:
			_, _ = decodeClusterID(data) // only that it does not panic
		}
	})
}

// canonical writes unknown values as the encoder does, without white space.
func canonical(unknown map[string]rawJSON) {
	for k, v := range unknown {
		unknown[k] = mustMarshal(v)
	}
}
