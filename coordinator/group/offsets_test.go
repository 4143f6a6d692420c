package group

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/coordinator/shard"
)

// TestCommitsThatAreRefused: nothing is written by any of them.
func TestCommitsThatAreRefused(t *testing.T) {
	stable := func(t *testing.T, w *world) { settle(t, w, "g", joinRequest("g", "")) }
	completing := func(t *testing.T, w *world) {
		r := joinRequest("g", "")
		w.do(func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Join(now, r, k, out) })
	}
	nobody := func(*testing.T, *world) {}
	for name, c := range map[string]struct {
		before             func(*testing.T, *world)
		member, instance   string
		generation         int32
		transactional      bool
		want               error
		metadataBytesOver  bool
		wantOfTheOffset    error
		wantRecordsWritten int
	}{
		"earlier generation":              {before: stable, member: "c-1", generation: 0, want: ErrIllegalGeneration},
		"unknown member":                  {before: stable, member: "m", generation: 1, want: ErrUnknownMember},
		"unknown instance":                {before: stable, member: "c-1", instance: "i", generation: 1, want: ErrUnknownMember},
		"while completing":                {before: completing, member: "c-1", generation: 1, want: ErrRebalanceInProgress},
		"no member, but there are some":   {before: stable, generation: -1, want: ErrUnknownMember},
		"a generation of no group":        {before: nobody, member: "m", generation: 1, want: ErrIllegalGeneration},
		"metadata too large":              {before: stable, member: "c-1", generation: 1, metadataBytesOver: true, wantOfTheOffset: ErrMetadataTooLarge},
		"the member":                      {before: stable, member: "c-1", generation: 1, wantRecordsWritten: 1},
		"nobody's, of no group":           {before: nobody, generation: -1, wantRecordsWritten: 1},
		"transactional, unknown member":   {before: stable, member: "m", generation: 1, transactional: true, want: ErrUnknownMember},
		"transactional, earlier":          {before: stable, member: "c-1", generation: 0, transactional: true, want: ErrIllegalGeneration},
		"transactional, nobody's":         {before: stable, generation: -1, transactional: true, wantRecordsWritten: 1},
		"transactional, the member":       {before: stable, member: "c-1", generation: 1, transactional: true, wantRecordsWritten: 1},
		"transactional, while completing": {before: completing, member: "c-1", generation: 1, transactional: true, wantRecordsWritten: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(quick())
			c.before(t, w)
			before := len(w.log)
			r := CommitRequest{Group: "g", Member: c.member, InstanceID: c.instance, Generation: c.generation, RetentionMs: -1, Offsets: []Commit{at("t", 0, 1)}}
			if c.metadataBytesOver {
				r.Offsets[0].Metadata = strings.Repeat("x", w.options.MaxMetadataBytes+1)
			}
			reply, err := call[*CommitReply](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) {
				if c.transactional {
					g.TxnCommit(now, &TxnCommitRequest{CommitRequest: r, ProducerID: 7, Verified: verified(g, 7)}, k, out)
					return
				}
				g.Commit(now, &r, k, out)
			})
			if err != c.want {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if err == nil && reply.Errs[0] != c.wantOfTheOffset {
				t.Errorf("the offset: got %v, want %v", reply.Errs[0], c.wantOfTheOffset)
			}
			if got := len(w.log) - before; got != c.wantRecordsWritten {
				t.Errorf("%d records written, want %d", got, c.wantRecordsWritten)
			}
		})
	}
}

func TestACommitIsASignOfLife(t *testing.T) {
	w := newWorld(quick())
	settle(t, w, "g", joinRequest("g", ""))
	for range 3 {
		w.advance(9 * time.Second)
		r := &CommitRequest{Group: "g", Member: "c-1", Generation: 1, RetentionMs: -1, Offsets: []Commit{at("t", 0, 1)}}
		if _, err := call[*CommitReply](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Commit(now, r, k, out) }); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOffsetsAreKeptWhole(t *testing.T) {
	w := newWorld(quick())
	if err := keep(t, w, "g", at("b", 1, 11), at("a", 0, 12)); err != nil {
		t.Fatal(err)
	}
	w.failOver()
	r := &OffsetsRequest{Group: "g", Partitions: []TopicPartition{{"b", 1}, {"c", 0}, {"a", 0}}}
	reply, err := call[*OffsetsReply](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Offsets(now, r, k, out) })
	if err != nil {
		t.Fatal(err)
	}
	want := []Committed{
		{TopicPartition: TopicPartition{"b", 1}, Offset: 11, LeaderEpoch: 3, Metadata: "m"},
		{TopicPartition: TopicPartition{"c", 0}, Offset: -1, LeaderEpoch: -1},
		{TopicPartition: TopicPartition{"a", 0}, Offset: 12, LeaderEpoch: 3, Metadata: "m"},
	}
	if diff := cmp.Diff(want, reply.Offsets); diff != "" {
		t.Errorf("offsets (-want +got):\n%s", diff)
	}
	if got := offsetsOf(t, w, "g") + offsetsOf(t, w, "none"); got != "a-0:12 b-1:11 " {
		t.Errorf("all offsets: %q", got)
	}
}

// TestTransactionalOffsets: they count once their transaction is committed, unless a
// later commit came first; until then a stable read is told to wait.
func TestTransactionalOffsets(t *testing.T) {
	w := newWorld(quick())
	commit := func(producer int64, offset Commit) {
		t.Helper()
		r := &TxnCommitRequest{ProducerID: producer, CommitRequest: CommitRequest{Group: "g", Generation: -1, RetentionMs: -1, Offsets: []Commit{offset}}}
		if _, err := call[*CommitReply](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) {
			r.Verified = verified(g, producer)
			g.TxnCommit(now, r, k, out)
		}); err != nil {
			t.Fatal(err)
		}
	}
	stable := func() error {
		r := &OffsetsRequest{Group: "g", RequireStable: true, Partitions: []TopicPartition{{"t", 0}}}
		reply, _ := call[*OffsetsReply](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Offsets(now, r, k, out) })
		return reply.Offsets[0].Err
	}
	expect := func(what, want string, unstable error) {
		t.Helper()
		w.failOver()
		if got := offsetsOf(t, w, "g"); got != want {
			t.Errorf("%s: offsets %q, want %q", what, got, want)
		}
		if got := stable(); got != unstable {
			t.Errorf("%s: a stable read: got %v, want %v", what, got, unstable)
		}
	}
	commit(1, at("t", 0, 5))
	expect("open", "", ErrUnstableOffset)
	w.end(1, false)
	expect("aborted", "", nil)
	commit(1, at("t", 0, 6))
	commit(2, at("t", 0, 7))
	w.end(2, true)
	expect("one of two committed", "t-0:7 ", ErrUnstableOffset)
	w.end(1, true)
	expect("the earlier committed later", "t-0:7 ", nil)
	commit(1, at("t", 0, 8))
	w.groups.Replay(shard.Origin{}, &OffsetRecord{Group: "g", TopicPartition: TopicPartition{"t", 0}, Tombstone: true})
	if w.groups.groups["g"] != nil {
		t.Error("a tombstone left what an open transaction had")
	}
	w.end(1, true)
	w.end(9, true)
}

func TestDeleteOffsets(t *testing.T) {
	o := quick()
	o.Subscription = func(metadata []byte) ([]string, bool) { return []string{string(metadata)}, len(metadata) > 0 }
	remove := func(w *world, group string) (string, error) {
		r := &DeleteOffsetsRequest{Group: group, Partitions: []TopicPartition{{"t", 0}, {"u", 0}, {"v", 0}}}
		reply, err := call[*CommitReply](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.DeleteOffsets(now, r, k, out) })
		if err != nil {
			return "", err
		}
		return fmt.Sprint(reply.Errs), nil
	}
	w := newWorld(o)
	for _, group := range []string{"g", "connect", "kept", "opaque"} {
		if err := keep(t, w, group, at("t", 0, 1), at("u", 0, 2)); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, w, "g", joinRequest("g", ""))
	connect := joinRequest("connect", "")
	connect.ProtocolType = "connect"
	settle(t, w, "connect", connect)
	opaque := joinRequest("opaque", "")
	opaque.Protocols[0].Metadata = nil
	settle(t, w, "opaque", opaque)
	for _, c := range []struct {
		group, want, left string
		err               error
	}{
		{"none", "", "", ErrGroupNotFound},
		{"connect", "", "t-0:1 u-0:2 ", ErrNonEmptyGroup},
		{"g", fmt.Sprint([]error{ErrSubscribed, nil, nil}), "t-0:1 ", nil},
		{"kept", fmt.Sprint([]error{nil, nil, nil}), "", nil},
		{"opaque", fmt.Sprint([]error{ErrSubscribed, ErrSubscribed, ErrSubscribed}), "t-0:1 u-0:2 ", nil},
	} {
		got, err := remove(w, c.group)
		if got != c.want || err != c.err {
			t.Errorf("%s: got %s, %v, want %s, %v", c.group, got, err, c.want, c.err)
		}
		if left := offsetsOf(t, w, c.group); left != c.left {
			t.Errorf("%s: left %q, want %q", c.group, left, c.left)
		}
	}
}

// TestVoidVerification: what was verified before the end of a transaction, or before
// the groups were loaded, adds nothing to the log (KIP-890).
func TestVoidVerification(t *testing.T) {
	for name, between := range map[string]func(*world){
		"the transaction ended":          func(w *world) { w.end(7, false) },
		"another producer's ended":       func(w *world) { w.end(8, false) },
		"the groups were loaded":         func(w *world) { w.failOver() },
		"loaded, and another one begins": func(w *world) { w.failOver(); verified(w.groups, 7) },
	} {
		w := newWorld(quick())
		r := &TxnCommitRequest{ProducerID: 7, CommitRequest: CommitRequest{Group: "g", Generation: -1, RetentionMs: -1, Offsets: []Commit{at("t", 0, 1)}}}
		r.Verified = verified(w.groups, 7)
		between(w)
		var want error = ErrVerificationVoid
		if name == "another producer's ended" {
			want = nil
		}
		before := len(w.log)
		_, err := call[*CommitReply](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.TxnCommit(now, r, k, out) })
		if err != want || (len(w.log) > before) != (want == nil) {
			t.Errorf("%s: %v and %d records, want %v", name, err, len(w.log)-before, want)
		}
	}
}
