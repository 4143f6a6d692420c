package group

import (
	"fmt"
	"testing"
	"time"

	"tidemark/coordinator/shard"
)

// call runs one operation of w and returns its reply, which must be immediate.
func call[T any](t *testing.T, w *world, op func(*Groups, time.Time, shard.Token, *Outcome)) (body T, err error) {
	t.Helper()
	answered := false
	was := w.replied
	defer func() { w.replied = was }()
	want := w.tokens + 1
	w.replied = func(r shard.Reply) {
		if r.Token == want {
			answered, err = true, r.Err
			body, _ = r.Body.(T)
		} else {
			was(r)
		}
	}
	w.do(op)
	if !answered {
		t.Fatal("the reply did not come at once")
	}
	return body, err
}

func quick() Options {
	o := NewOptions()
	o.InitialRebalanceDelay = 0
	return o
}

func joinRequest(group, member string) *JoinRequest {
	return &JoinRequest{
		Group: group, Member: member, ClientID: "c", ProtocolType: "consumer", SessionTimeout: 10 * time.Second, RebalanceTimeout: time.Minute,
		FreshID: "1", Protocols: []Protocol{{Name: "range", Metadata: []byte("t")}},
	}
}

// settle makes a Stable group of one member and returns its id.
func settle(t *testing.T, w *world, group string, r *JoinRequest) string {
	t.Helper()
	joined, err := call[*JoinReply](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Join(now, r, k, out) })
	if err != nil {
		t.Fatal(err)
	}
	sync := &SyncRequest{Group: group, Generation: joined.Generation, Member: joined.Member}
	if _, err := call[*SyncReply](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Sync(now, sync, k, out) }); err != nil {
		t.Fatal(err)
	}
	return joined.Member
}

// keep commits offsets as nobody's member.
func keep(t *testing.T, w *world, group string, offsets ...Commit) error {
	t.Helper()
	r := &CommitRequest{Group: group, Generation: -1, RetentionMs: -1, Offsets: offsets}
	reply, err := call[*CommitReply](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Commit(now, r, k, out) })
	if err == nil {
		err = reply.Errs[0]
	}
	return err
}

func at(topic string, partition int32, offset int64) Commit {
	return Commit{TopicPartition: TopicPartition{topic, partition}, Offset: offset, LeaderEpoch: 3, Metadata: "m"}
}

// offsetsOf renders all offsets of a group.
func offsetsOf(t *testing.T, w *world, group string) string {
	t.Helper()
	r := &OffsetsRequest{Group: group, All: true}
	reply, err := call[*OffsetsReply](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Offsets(now, r, k, out) })
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, o := range reply.Offsets {
		text += fmt.Sprintf("%s-%d:%d ", o.Topic, o.Partition, o.Offset)
	}
	return text
}

// verified is a verification of the producer's transaction, begun now.
func verified(g *Groups, producer int64) *Verification {
	var out Outcome
	g.StartVerification(time.Time{}, producer, 1, &out)
	return out.Replies[0].Body.(*Verification)
}
