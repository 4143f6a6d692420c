package replica

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"tidemark/commitlog"
	"tidemark/commitlog/checkpoint"
	"tidemark/internal/vfs"
	"tidemark/replication"
	"tidemark/replication/catalog"
)

// suspectHost is a broker whose replica of t-0 was synced to offset 5, was found with a
// bit flipped in its second batch after an unclean stop, and ends at 1 now.
func suspectHost(t *testing.T, strategy string) *host {
	fs := vfs.NewMem()
	h := newHost(t, fs, "/a")
	h.o.Strategies = catalog.Builtin()
	h.set("t", func(c *TopicConfig) { c.Log.FlushMessages, c.Strategy = 1, strategy })
	h.open()
	h.become(1, 1, false, 1, 2, 3)
	for i := range 5 {
		h.append("t", 0, fmt.Sprint("record ", i))
	}
	h.close()
	flip(t, fs, "/a/t-0/"+commitlog.FileName(0, commitlog.LogSuffix), []byte("record 1"))
	if err := fs.Remove("/a/" + checkpoint.CleanShutdownFile); err != nil {
		t.Fatal(err)
	}
	h.open()
	return h
}

// flip turns over one bit of what in a file.
func flip(t *testing.T, fs vfs.FS, file string, what []byte) {
	t.Helper()
	data, err := vfs.ReadFile(fs, file)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, what)
	if at < 0 {
		t.Fatalf("%s has no %q", file, what)
	}
	data[at] ^= 4
	if err := vfs.WriteFileAtomic(fs, file, data); err != nil {
		t.Fatal(err)
	}
}

// become applies a state of t-0 and returns what came of it.
func (h *host) become(leader, leaderEpoch int32, recovering bool, replicas ...int32) error {
	return h.Apply([]State{{Topic: "t", TopicID: [16]byte{1}, Leader: leader, LeaderEpoch: leaderEpoch, Replicas: replicas,
		ISR: Members(leader), Recovering: recovering}}).Err()
}

func (h *host) suspects() bool {
	_, err := h.fs.Stat("/a/t-0/" + suspectFile)
	return err == nil
}

// TestGoneLogDoesNotLead: a replica whose directory was taken away begins anew, and does
// not lead with nothing while others have the partition, over restarts too.
func TestGoneLogDoesNotLead(t *testing.T) {
	fs := vfs.NewMem()
	h := newHost(t, fs, "/a")
	h.open()
	h.become(1, 1, false, 1, 2)
	h.append("t", 0, "x")
	h.close()
	if err := fs.RemoveAll("/a/t-0"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		h.open()
		if err := h.become(1, 2, false, 1, 2); !errors.Is(err, ErrStorage) {
			t.Fatalf("made leader: %v, want ErrStorage", err)
		}
		h.close()
	}
	h.open()
	defer h.close()
	if err := h.become(1, 3, false, 1); err != nil {
		t.Errorf("the only copy, made leader: %v", err)
	}
}

// TestSuspectDoesNotLead: a replica that lost what it had on stable storage does not lead
// while others have the partition, over restarts too, until it is in sync again; it does
// where nobody else has it, or where it is decided to go on with what is left.
func TestSuspectDoesNotLead(t *testing.T) {
	h := suspectHost(t, "isr")
	defer func() { h.close() }()
	if got := h.CleanEpoch(); got != replication.NoBrokerEpoch {
		t.Errorf("the broker says that it lost nothing since %d", got)
	}
	for range 2 {
		if err := h.become(1, 2, false, 1, 2, 3); !errors.Is(err, ErrStorage) {
			t.Fatalf("made leader: %v, want ErrStorage", err)
		}
		if err := h.Partition("t", 0).Check(AnyEpoch); err == nil {
			t.Fatal("it leads")
		}
		h.close()
		h.open() // nothing is found any more, and still it is not trusted
	}
	if err := h.become(2, 3, false, 1, 2, 3); err != nil || !h.suspects() {
		t.Fatalf("made follower that is not in sync: %v, suspect %v, want true", err, h.suspects())
	}
	in := State{Topic: "t", TopicID: [16]byte{1}, Leader: 2, LeaderEpoch: 3, PartitionEpoch: 1, Replicas: []int32{1, 2, 3}, ISR: Members(1, 2)}
	if err := h.Apply([]State{in}).Err(); err != nil || h.suspects() {
		t.Fatalf("taken into the in-sync set: %v, suspect %v, want false", err, h.suspects())
	}
	if err := h.become(1, 4, false, 1, 2, 3); err != nil {
		t.Errorf("made leader once in sync: %v", err)
	}
}

func TestSuspectLeadsWhereItMust(t *testing.T) {
	for name, c := range map[string]struct {
		strategy   string
		recovering bool
		replicas   []int32
	}{
		"the only copy":       {"isr", false, []int32{1}},
		"an unclean election": {"isr", true, []int32{1, 2, 3}},
		"no promise":          {"async", false, []int32{1, 2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			h := suspectHost(t, c.strategy)
			defer h.close()
			if !h.suspects() {
				t.Fatal("it is not suspect")
			}
			if err := h.become(1, 2, c.recovering, c.replicas...); err != nil || h.suspects() {
				t.Errorf("made leader: %v, suspect %v, want it to lead", err, h.suspects())
			}
		})
	}
}

// TestSuspectDoesNotVote: where a majority elects, a suspect replica answers without a
// log directory, and such votes do not count.
func TestSuspectDoesNotVote(t *testing.T) {
	h := suspectHost(t, "quorum")
	defer h.close()
	if a := h.ask(7); a.Err != nil || a.Dir != (replication.DirID{}) || a.LogEndOffset > 2 {
		t.Errorf("asked for its vote it says %+v, want a log that ends at 2 at most, in no directory", a)
	}
}
