package codec

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/coordinator/group"
	"tidemark/internal/golden"
)

// at is the partition of the samples.
var at = group.TopicPartition{Topic: "orders", Partition: 3}

// samples are records of every kind and version that is written. Kafka's own
// kafka-dump-log reads the same records in e2e.TestKafkaReadsOffsets.
var samples = []struct {
	name   string
	record group.Record
}{
	{"offset", &group.OffsetRecord{Group: "billing", TopicPartition: at, Offset: 42, LeaderEpoch: 7, Metadata: "host 1",
		CommitTimestampMs: 1_700_000_000_000, ExpireTimestampMs: -1}},
	{"offset that expires", &group.OffsetRecord{Group: "billing", TopicPartition: at, Offset: 42, LeaderEpoch: -1,
		CommitTimestampMs: 1_700_000_000_000, ExpireTimestampMs: 1_700_000_060_000}},
	{"offset with a topic id", &group.OffsetRecord{Group: "billing", TopicPartition: at, TopicID: [16]byte{1, 15: 16}, Offset: 42,
		LeaderEpoch: 0, CommitTimestampMs: 1_700_000_000_000, ExpireTimestampMs: -1}},
	{"offset's tombstone", &group.OffsetRecord{Group: "billing", TopicPartition: at, Tombstone: true}},
	{"stable group", &group.GroupRecord{Group: "billing", ProtocolType: "consumer", Protocol: "range", Leader: "c1-a", Generation: 5,
		TimestampMs: 1_700_000_000_000, Members: []group.MemberRecord{
			{Member: "c1-a", ClientID: "c1", ClientHost: "/127.0.0.1", RebalanceTimeoutMs: 300_000, SessionTimeoutMs: 45_000,
				Subscription: []byte("subscribed"), Assignment: []byte("assigned")},
			{Member: "i-b", InstanceID: "i", ClientID: "c2", ClientHost: "/127.0.0.2", RebalanceTimeoutMs: 1, SessionTimeoutMs: 2,
				Subscription: []byte{}, Assignment: []byte{}},
		}}},
	{"empty group", &group.GroupRecord{Group: "billing", ProtocolType: "consumer", Generation: 6, TimestampMs: 1_700_000_000_001}},
	{"consumer group", &group.ConsumerGroupRecord{Group: "billing", Epoch: 4, MetadataHash: 0x0102030405060708}},
	{"consumer group without a hash", &group.ConsumerGroupRecord{Group: "billing", Epoch: 4}},
	{"consumer group's tombstone", &group.ConsumerGroupRecord{Group: "billing", Tombstone: true}},
	{"consumer", &group.ConsumerMemberRecord{Group: "billing", Member: "m", InstanceID: "i", RackID: "r", ClientID: "c", ClientHost: "/127.0.0.1",
		RebalanceTimeoutMs: 300_000, Topics: []string{"orders", "returns"}, Assignor: "uniform"}},
	{"plain consumer", &group.ConsumerMemberRecord{Group: "billing", Member: "m", ClientID: "c", ClientHost: "h", RebalanceTimeoutMs: 1}},
	{"consumer of a pattern", &group.ConsumerMemberRecord{Group: "billing", Member: "m", ClientID: "c", ClientHost: "h", RebalanceTimeoutMs: 1,
		Topics: []string{"orders"}, Regex: "orders-.*"}},
	{"consumer's tombstone", &group.ConsumerMemberRecord{Group: "billing", Member: "m", Tombstone: true}},
	{"target epoch", &group.TargetEpochRecord{Group: "billing", Epoch: 4}},
	{"target epoch's tombstone", &group.TargetEpochRecord{Group: "billing", Tombstone: true}},
	{"target", &group.TargetRecord{Group: "billing", Member: "m", Partitions: []group.TopicPartitions{
		{TopicID: [16]byte{1}, Partitions: []int32{0, 2}}, {TopicID: [16]byte{2}, Partitions: []int32{1}}}}},
	{"target's tombstone", &group.TargetRecord{Group: "billing", Member: "m", Tombstone: true}},
	{"current", &group.CurrentRecord{Group: "billing", Member: "m", Epoch: 4, PreviousEpoch: 3, State: group.MemberRevoking,
		Assigned: []group.TopicPartitions{{TopicID: [16]byte{1}, Partitions: []int32{0}}},
		Revoking: []group.TopicPartitions{{TopicID: [16]byte{1}, Partitions: []int32{2}}}}},
	{"current's tombstone", &group.CurrentRecord{Group: "billing", Member: "m", Tombstone: true}},
	{"group's tombstone", &group.GroupRecord{Group: "billing", Tombstone: true}},
}

func TestWrittenBytes(t *testing.T) {
	var out strings.Builder
	for _, s := range samples {
		key, value := Groups{}.Encode(s.record)
		fmt.Fprintf(&out, "%s\nkey\n%s", s.name, hex.Dump(key))
		if value != nil {
			fmt.Fprintf(&out, "value\n%s", hex.Dump(value))
		}
		out.WriteByte('\n')

		back, ok, err := Groups{}.Decode(key, value)
		if err != nil || !ok {
			t.Errorf("%s: decoding what was written: ok %v, %v", s.name, ok, err)
		}
		if diff := cmp.Diff(s.record, back); diff != "" {
			t.Errorf("%s is another record once written and read (-written +read):\n%s", s.name, diff)
		}
	}
	golden.Check(t, "testdata/groups.txt", out.String())
}

// TestEarlierVersions reads the layouts that earlier releases of Kafka wrote; the
// bytes are put together by hand from Kafka's schemas.
func TestEarlierVersions(t *testing.T) {
	offsetKey := "0000" + "0001" + hex.EncodeToString([]byte("g")) + "0001" + hex.EncodeToString([]byte("t")) + "00000002"
	offset := func(version string, epoch string, tail string) string {
		return version + "000000000000002a" + epoch + "0001" + hex.EncodeToString([]byte("m")) + "0000000000000064" + tail
	}
	groupKey := "0002" + "0001" + hex.EncodeToString([]byte("g"))
	member := func(rebalance string) string {
		return "0001" + hex.EncodeToString([]byte("m")) + "0001" + hex.EncodeToString([]byte("c")) + "0001" + hex.EncodeToString([]byte("h")) +
			rebalance + "000000c8" + "00000001" + "aa" + "00000001" + "bb"
	}
	groupOf := func(version, timestamp, member string) string {
		return version + "0001" + hex.EncodeToString([]byte("p")) + "00000009" + "0001" + hex.EncodeToString([]byte("r")) + "ffff" + timestamp + "00000001" + member
	}
	committed := group.OffsetRecord{Group: "g", TopicPartition: group.TopicPartition{Topic: "t", Partition: 2}, Offset: 42, Metadata: "m",
		LeaderEpoch: -1, CommitTimestampMs: 100, ExpireTimestampMs: -1}
	expiring := committed
	expiring.ExpireTimestampMs = 200
	of := func(timestamp int64, rebalance int32) *group.GroupRecord {
		return &group.GroupRecord{Group: "g", ProtocolType: "p", Protocol: "r", Generation: 9, TimestampMs: timestamp, Members: []group.MemberRecord{
			{Member: "m", ClientID: "c", ClientHost: "h", RebalanceTimeoutMs: rebalance, SessionTimeoutMs: 200, Subscription: []byte{0xaa}, Assignment: []byte{0xbb}}}}
	}
	for _, test := range []struct {
		name, key, value string
		want             group.Record
	}{
		{"offset 0", offsetKey, offset("0000", "", ""), &committed},
		{"offset 1", offsetKey, offset("0001", "", "00000000000000c8"), &expiring},
		{"offset 2", offsetKey, offset("0002", "", ""), &committed},
		{"group 0", groupKey, groupOf("0000", "", member("")), of(-1, 200)},
		{"group 1", groupKey, groupOf("0001", "", member("0000012c")), of(-1, 300)},
		{"group 2", groupKey, groupOf("0002", "0000000000000064", member("0000012c")), of(100, 300)},
	} {
		got, ok, err := Groups{}.Decode(unhex(t, test.key), unhex(t, test.value))
		if err != nil || !ok {
			t.Errorf("%s: ok %v, %v", test.name, ok, err)
			continue
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestStrangeRecords(t *testing.T) {
	key, value := Groups{}.Encode(samples[0].record)
	for _, version := range []byte{4, 9, 16, 200} { // a former one of KIP-848, and what may come
		if _, ok, err := (Groups{}).Decode(append([]byte{0, version}, key[2:]...), value); ok || err != nil {
			t.Errorf("key of version %d: ok %v, %v, want it passed over", version, ok, err)
		}
	}
	for name, bad := range map[string][2][]byte{
		"no key":                            {nil, value},
		"a key of one byte":                 {{0}, value},
		"a key cut off":                     {key[:len(key)-1], value},
		"an empty value":                    {key, {}},
		"a value cut off":                   {key, value[:len(value)-1]},
		"a value of version 5":              {key, append([]byte{0, 5}, value[2:]...)},
		"a value of version -1":             {key, append([]byte{0xff, 0xff}, value[2:]...)},
		"a consumer's key without a member": {{0, 5, 0, 1, 'g'}, nil},
		"a consumer's value cut off":        {{0, 3, 0, 1, 'g'}, {0, 0, 0, 0}},
		"partitions that are not there":     {{0, 7, 0, 1, 'g', 0, 1, 'm'}, {0, 0, 0xff, 0xff, 0xff, 0xff, 0x07}},
		"a group's value cut off":           {{0, 2, 0, 1, 'g'}, {0, 3, 0}},
	} {
		if _, _, err := (Groups{}).Decode(bad[0], bad[1]); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %v, want ErrMalformed", name, err)
		}
	}
}

// TestDecodeCopies: the buffers are the shard's, which reads the next batch into
// them.
func TestDecodeCopies(t *testing.T) {
	key, value := Groups{}.Encode(samples[4].record)
	got, _, err := Groups{}.Decode(key, value)
	if err != nil {
		t.Fatal(err)
	}
	clear(key)
	clear(value)
	if diff := cmp.Diff(samples[4].record, got); diff != "" {
		t.Errorf("the record changed with the buffers it was read from (-want +got):\n%s", diff)
	}
}

// FuzzDecode: bytes of a damaged or foreign topic are refused or passed over, and
// what is read can be written and read again.
func FuzzDecode(f *testing.F) {
	for _, s := range samples {
		key, value := Groups{}.Encode(s.record)
		f.Add(key, value)
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		r, ok, err := Groups{}.Decode(key, value)
		if err != nil && !errors.Is(err, ErrMalformed) {
			t.Fatalf("error %v is not ErrMalformed", err)
		}
		if !ok {
			return
		}
		again, ok, err := Groups{}.Decode(Groups{}.Encode(r))
		if err != nil || !ok {
			t.Fatalf("what was read cannot be read again: ok %v, %v", ok, err)
		}
		if o, expires := r.(*group.OffsetRecord); expires && o.ExpireTimestampMs >= 0 {
			return // version 1 has no leader epoch and no topic id
		}
		if diff := cmp.Diff(r, again); diff != "" {
			t.Errorf("(-read +read again):\n%s", diff)
		}
	})
}

func TestSubscription(t *testing.T) {
	// Version 1: topics a and bc, no user data, no owned partitions.
	metadata := unhex(t, "0001"+"00000002"+"000161"+"00026263"+"ffffffff"+"00000000")
	if topics, ok := Subscription(metadata); !ok || !cmp.Equal(topics, []string{"a", "bc"}) {
		t.Errorf("got %v, %v, want a and bc", topics, ok)
	}
	for _, bad := range [][]byte{nil, {0}, []byte("connect's own"), metadata[:9]} {
		if topics, ok := Subscription(bad); ok {
			t.Errorf("%x: got %v, want it refused", bad, topics)
		}
	}
}
