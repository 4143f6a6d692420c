package e2e

import (
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/bench/cluster"
)

// TestOffsetsInZooKeeper keeps offsets in the layout of Kafka 0.8, in the embedded
// store and in a real ZooKeeper: they outlive their coordinator, and anybody reads them.
func TestOffsetsInZooKeeper(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(*testing.T) string{
		"embedded":  func(*testing.T) string { return cluster.Embedded },
		"zookeeper": ensembleWithDeadServer,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := startRig(t, store(t), "offsets.storage=zookeeper")
			coordinatorKilled(t, r)
			offsetsArePlainNodes(t, r)
			noTransactionCommits(t, r)
			offsetsAreDeleted(t, r)
		})
	}
}

// offsetsArePlainNodes reads what the group crew committed, and a commit with all that
// is not kept.
func offsetsArePlainNodes(t *testing.T, r *rig) {
	conn, path := dialStore(t, r)
	committed, err := r.admin(t).FetchOffsets(patiently(t), "crew")
	if err != nil {
		t.Fatal(err)
	}
	committed.Each(func(o kadm.OffsetResponse) {
		node := path(fmt.Sprintf("/consumers/crew/offsets/work/%d", o.Partition))
		data, _, err := conn.Get(node)
		if err != nil || string(data) != strconv.FormatInt(o.At, 10) {
			t.Errorf("%s holds %q, %v, while the group's offset is %d", node, data, err, o.At)
		}
	})
	rich := kadm.Offset{Topic: "work", Partition: 0, At: 12, LeaderEpoch: 1, Metadata: "kept by nobody"}
	offsets := kadm.Offsets{}
	offsets.Add(rich)
	if err := r.admin(t).CommitAllOffsets(patiently(t), "plain", offsets); err != nil {
		t.Fatal(err)
	}
	got, err := r.admin(t).FetchOffsets(patiently(t), "plain")
	if err != nil {
		t.Fatal(err)
	}
	if o, ok := got.Lookup("work", 0); !ok || o.At != 12 || o.Metadata != "" || o.LeaderEpoch != -1 {
		t.Errorf("the offset is %+v (there: %v), want 12 and nothing beside it", o, ok)
	}
	if err := r.admin(t).CommitAllOffsets(patiently(t), "a/b", offsets); !errors.Is(err, kerr.InvalidGroupID) {
		t.Errorf("a group whose name is a path: got %v, want %v", err, kerr.InvalidGroupID)
	}
}

// noTransactionCommits: a client is told in words of the protocol that it cannot.
func noTransactionCommits(t *testing.T, r *rig) {
	client := r.client(t, kgo.TransactionalID("copier"))
	if err := client.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := client.ProduceSync(patiently(t), &kgo.Record{Topic: "work", Value: []byte("x")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	id, epoch, err := client.ProducerID(patiently(t))
	if err != nil {
		t.Fatal(err)
	}
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = "copier", id, epoch, "plain"
	if answer, err := add.RequestWith(patiently(t), client); err != nil || answer.ErrorCode != 0 {
		t.Fatalf("add the group: %+v, %v", answer, err)
	}
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.ProducerID, commit.ProducerEpoch, commit.Group, commit.Generation = "copier", id, epoch, "plain", -1
	topics, err := r.admin(t).ListTopics(patiently(t), "work")
	if err != nil {
		t.Fatal(err)
	}
	partition := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	partition.Offset = 99
	topic := kmsg.NewTxnOffsetCommitRequestTopic()
	topic.Topic, topic.TopicID, topic.Partitions = "work", topics["work"].ID, append(topic.Partitions, partition)
	commit.Topics = append(commit.Topics, topic)
	answer, err := commit.RequestWith(patiently(t), client)
	if err != nil {
		t.Fatal(err)
	}
	if got := kerr.ErrorForCode(answer.Topics[0].Partitions[0].ErrorCode); !errors.Is(got, kerr.UnsupportedForMessageFormat) {
		t.Errorf("the transaction's commit: got %v, want %v", got, kerr.UnsupportedForMessageFormat)
	}
	if err := client.EndTransaction(patiently(t), kgo.TryAbort); err != nil {
		t.Errorf("abort: %v", err)
	}
}

// offsetsAreDeleted with their group, nodes and all.
func offsetsAreDeleted(t *testing.T, r *rig) {
	if answers, err := r.admin(t).DeleteGroups(patiently(t), "plain"); err != nil || answers["plain"].Err != nil {
		t.Fatalf("delete the group: %+v, %v", answers, err)
	}
	conn, path := dialStore(t, r)
	if _, _, err := conn.Get(path("/consumers/plain")); !errors.Is(err, zk.ErrNoNode) {
		t.Errorf("the deleted group's node: got %v, want none", err)
	}
}
