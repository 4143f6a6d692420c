package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/protocol/record"
)

// leaderKilled: another replica leads what a killed broker led, with all that was
// acknowledged; the killed one leaves the in-sync sets and, restarted, comes back.
func leaderKilled(t *testing.T, r *rig) {
	r.create(t, "killed", 3, 3)
	for p := range int32(3) {
		r.write(t, "killed", p, 0, 100)
	}
	victim := r.partition(t, "killed", 0).Leader
	r.kill(t, victim)
	r.awaitPartitions(t, "killed", fmt.Sprint("led by others than ", victim), func(all kadm.PartitionDetails) bool {
		return !slices.ContainsFunc(all.Sorted(), func(p kadm.PartitionDetail) bool {
			return p.Leader < 0 || p.Leader == victim || len(p.ISR) != 2 || slices.Contains(p.ISR, victim)
		})
	})
	for p := range int32(3) {
		r.read(t, "killed", p, 100)
		r.write(t, "killed", p, 100, 200)
	}
	r.restart(t, victim)
	r.awaitInSync(t, "killed", 3)
	for p := range int32(3) {
		r.write(t, "killed", p, 200, 210)
		r.read(t, "killed", p, 210)
	}
}

// tooFewInSync: with both followers dead acks=all is refused and nothing becomes
// visible; a record that the leader alone has is read once they are back (fault R14).
func tooFewInSync(t *testing.T, r *rig) {
	r.create(t, "alone", 1, 3)
	r.write(t, "alone", 0, 0, 10)
	leader := r.partition(t, "alone", 0).Leader
	r.kill(t, others(leader)...)
	r.awaitPartitions(t, "alone", "the leader alone in sync", func(all kadm.PartitionDetails) bool {
		return all[0].Leader == leader && slices.Equal(all[0].ISR, []int32{leader})
	})
	err := produceOnce(t, r.client(t), leader, "alone", "refused")
	if !errors.Is(err, kerr.NotEnoughReplicas) {
		t.Errorf("acks=all with two followers dead: %v, want %v", err, kerr.NotEnoughReplicas)
	}
	r.write(t, "alone", 0, 10, 11, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	ends, err := r.admin(t).ListEndOffsets(patiently(t), "alone")
	if o, _ := ends.Lookup("alone", 0); err != nil || o.Err != nil || o.Offset != 10 {
		t.Errorf("consumers may read to %+v, %v, want to 10", o, err)
	}
	r.restart(t, others(leader)...)
	r.awaitInSync(t, "alone", 3)
	r.write(t, "alone", 0, 11, 20)
	r.read(t, "alone", 0, 20)
}

// produceOnce sends one record with acks=all to one broker and returns its answer.
func produceOnce(t *testing.T, client *kgo.Client, broker int32, topic, value string) error {
	t.Helper()
	batch := record.NewBuilder(record.None, record.DefaultLevel)
	batch.Append(time.Now().UnixMilli(), nil, []byte(value), nil)
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 5000
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: topic, Partitions: []kmsg.ProduceRequestTopicPartition{{Records: batch.Build()}}}}
	answer, err := req.RequestWith(patiently(t), client.Broker(int(broker)))
	if err != nil {
		t.Fatal(err)
	}
	return kerr.ErrorForCode(answer.Topics[0].Partitions[0].ErrorCode)
}

// coordinatorKilled: a group goes on from what it committed when its coordinator dies.
func coordinatorKilled(t *testing.T, r *rig) {
	r.create(t, "work", 3, 3)
	for p := range int32(3) {
		r.write(t, "work", p, 0, 100)
	}
	member := r.client(t, kgo.ConsumerGroup("crew"), kgo.ConsumeTopics("work"), kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(20*time.Second), kgo.HeartbeatInterval(200*time.Millisecond))
	seen := map[string]int{}
	processAll := func(records int) {
		t.Helper()
		ctx := patiently(t)
		for len(seen) < records {
			fetches := member.PollFetches(ctx)
			if ctx.Err() != nil {
				t.Fatalf("the group has read %d of %d records: %v", len(seen), records, fetches.Err())
			}
			fetches.EachRecord(func(record *kgo.Record) { seen[fmt.Sprint(record.Partition, "/", record.Offset)]++ })
		}
		r.await(t, "a commit", func(ctx context.Context) (string, bool) {
			err := member.CommitUncommittedOffsets(ctx)
			return fmt.Sprint(err), err == nil
		})
	}
	processAll(300)
	found := r.admin(t).FindGroupCoordinators(patiently(t), "crew")
	if err := found.Error(); err != nil {
		t.Fatal(err)
	}
	r.kill(t, found["crew"].NodeID)
	r.await(t, "the committed offsets", func(ctx context.Context) (string, bool) {
		client := r.client(t) // of its own: one goes on asking the coordinator that it knows
		defer client.Close()
		offsets, err := kadm.NewClient(client).FetchOffsets(ctx, "crew")
		sum := int64(0)
		offsets.Each(func(o kadm.OffsetResponse) { sum += o.At })
		return fmt.Sprintf("%+v, %v", offsets, err), err == nil && sum == 300
	})
	for p := range int32(3) {
		r.write(t, "work", p, 100, 150)
	}
	processAll(450)
	for record, times := range seen {
		if times != 1 {
			t.Errorf("the group read record %s %d times", record, times)
		}
	}
	r.restart(t, found["crew"].NodeID)
	r.awaitInSync(t, "work", 3)
}

// deletedWhileAway: a broker that was away when a topic was deleted, and made anew
// elsewhere, deletes its old log when it returns, and copies the new one from scratch.
func deletedWhileAway(t *testing.T, r *rig) {
	r.create(t, "anew", 1, 3)
	r.write(t, "anew", 0, 0, 50)
	r.awaitInSync(t, "anew", 3)
	away := r.partition(t, "anew", 0).Leader
	if err := r.Stop(away); err != nil {
		t.Fatal(err)
	}
	admin := r.admin(t)
	answer, err := admin.DeleteTopics(patiently(t), "anew")
	if err := errors.Join(err, answer.Error()); err != nil {
		t.Fatal(err)
	}
	for _, id := range others(away) {
		r.awaitNoLog(t, id, "anew-0")
	}
	r.await(t, "nobody tells of the topic", func(ctx context.Context) (string, bool) {
		details, err := admin.ListTopics(ctx, "anew")
		return fmt.Sprintf("%+v, %v", details, err), err == nil && errors.Is(details["anew"].Err, kerr.UnknownTopicOrPartition)
	})
	r.create(t, "anew", 1, 2)
	r.write(t, "anew", 0, 0, 5)
	r.restart(t, away)
	r.awaitNoLog(t, away, "anew-0")
	req := kadm.AlterPartitionAssignmentsReq{}
	to := append([]int32{away}, others(away)...)
	req.Assign("anew", 0, to)
	moved, err := admin.AlterPartitionAssignments(patiently(t), req)
	if err := errors.Join(err, moved.Error()); err != nil {
		t.Fatal(err)
	}
	r.awaitInSync(t, "anew", 3)
	r.awaitPartitions(t, "anew", "led by who was away", func(all kadm.PartitionDetails) bool {
		_, _ = admin.ElectLeaders(t.Context(), kadm.ElectPreferredReplica, kadm.TopicsSet{"anew": {0: {}}}) // asked again until it is so
		return slices.Equal(all[0].Replicas, to) && all[0].Leader == away
	})
	r.write(t, "anew", 0, 5, 10)
	r.read(t, "anew", 0, 10)
}

// rollingRestart: every broker in turn leaves in order and comes back, while an
// idempotent producer sees no error and loses nothing (fault R31).
func rollingRestart(t *testing.T, r *rig) {
	r.create(t, "rolling", 3, 3)
	s := startStream(t, r, "rolling", 3)
	for range often(3, 10) {
		for id := int32(1); id <= 3; id++ {
			r.restart(t, id)
			r.awaitInSync(t, "rolling", 3)
			s.awaitMore(t, 50)
		}
	}
	s.end(t, r)
}

// transactionsAcrossBrokers: a transaction over three leaders is seen whole or not at
// all, also when its coordinator dies before it ends.
func transactionsAcrossBrokers(t *testing.T, r *rig) {
	r.create(t, "ledger", 3, 3)
	ctx := patiently(t)
	client := r.client(t, kgo.TransactionalID("teller"), kgo.TransactionTimeout(60*time.Second), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	begin := func(value string) {
		t.Helper()
		if err := client.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for p := range int32(3) {
			if err := client.ProduceSync(ctx, &kgo.Record{Topic: "ledger", Partition: p, Value: []byte(value)}).FirstErr(); err != nil {
				t.Fatalf("%s to partition %d: %v", value, p, err)
			}
		}
	}
	end := func(try kgo.TransactionEndTry) {
		t.Helper()
		if err := client.EndTransaction(ctx, try); err != nil {
			t.Fatal(err)
		}
	}
	begin("first")
	end(kgo.TryCommit)
	begin("aborted")
	end(kgo.TryAbort)

	found := r.admin(t).FindTxnCoordinators(ctx, "teller")
	if err := found.Error(); err != nil {
		t.Fatal(err)
	}
	begin("second")
	r.kill(t, found["teller"].NodeID)
	unknown := client.EndTransaction(ctx, kgo.TryCommit)
	if unknown != nil { // the library asks a dead broker no more than so often
		t.Logf("the coordinator is dead: %v", unknown)
		r.await(t, "the transaction is done with", func(ctx context.Context) (string, bool) {
			err := client.EndTransaction(ctx, kgo.TryAbort)
			return fmt.Sprint(err), err == nil
		})
	}
	begin("third")
	end(kgo.TryCommit)
	r.restart(t, found["teller"].NodeID)
	r.awaitInSync(t, "ledger", 3)

	got := r.readCommitted(t, "ledger", "third")
	for p := range int32(3) {
		want := []string{"first", "second", "third"}
		if unknown != nil && !slices.Contains(got[0], "second") {
			want = []string{"first", "third"}
		}
		if !slices.Equal(got[p], want) {
			t.Errorf("partition %d holds %v for readers of committed records, want %v", p, got[p], want)
		}
	}
}

// readCommitted reads three partitions up to a last value each.
func (r *rig) readCommitted(t *testing.T, topic, last string) map[int32][]string {
	t.Helper()
	ctx := patiently(t)
	reader := r.client(t, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	got := map[int32][]string{}
	for ended := 0; ended < 3; {
		fetches := reader.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("read %v: %v", got, fetches.Err())
		}
		fetches.EachRecord(func(record *kgo.Record) {
			got[record.Partition] = append(got[record.Partition], string(record.Value))
			if string(record.Value) == last {
				ended++
			}
		})
	}
	return got
}
