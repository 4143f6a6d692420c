package replica

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/commitlog"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
	"tidemark/replication"
)

// rottenHost leads t-0 with ten records in as many batches, of which the fifth has
// rotted since the broker was last stopped in order.
func rottenHost(t *testing.T, replicas ...int32) *host {
	fs := vfs.NewMem()
	h := newHost(t, fs, "/a")
	h.open()
	h.become(1, 1, false, replicas...)
	for i := range 10 {
		h.append("t", 0, fmt.Sprint("record ", i))
	}
	h.close()
	flip(t, fs, "/a/t-0/"+commitlog.FileName(0, commitlog.LogSuffix), []byte("record 4"))
	h.open()
	if err := h.become(1, 2, false, replicas...); err != nil {
		t.Fatal(err)
	}
	return h
}

// readFrom reads as a consumer until nothing more comes, and returns where that is. What
// it gets must be sound.
func readFrom(t *testing.T, p *Partition, offset, maxBytes int64) (int64, error) {
	t.Helper()
	for {
		chunk, _, err := p.Read(ReadRequest{Offset: offset, MaxBytes: maxBytes, LeaderEpoch: AnyEpoch, Isolation: ReadAll, WholeBatch: true})
		if err != nil || chunk == nil {
			return offset, err
		}
		var data bytes.Buffer
		_, err = chunk.WriteTo(&data)
		chunk.Release()
		if err != nil {
			t.Fatal(err)
		}
		for rest := data.Bytes(); len(rest) > 0; {
			b, after, err := record.Parse(rest)
			if err == nil {
				err = b.CheckCRC()
			}
			if err != nil {
				t.Fatalf("read at %d: %v", offset, err)
			}
			offset, rest = b.NextOffset(), after
		}
	}
}

// TestRottenBatchIsNotServed: what rotted before this process began is not served, at
// whatever size of reads; the only copy goes on serving what is sound, and takes appends.
func TestRottenBatchIsNotServed(t *testing.T) {
	h := rottenHost(t, 1)
	defer h.close()
	p := h.Partition("t", 0)
	for _, c := range []struct {
		from, maxBytes, to int64
		fails              bool
	}{{0, 1, 4, true}, {5, 1, 10, false}, {0, 1, 4, true}, {6, 10_000, 10, false}, {4, 10_000, 4, true}, {2, 150, 4, true}} {
		got, err := readFrom(t, p, c.from, c.maxBytes)
		if got != c.to || (err != nil) != c.fails || err != nil && !errors.Is(err, ErrStorage) {
			t.Errorf("read from %d in %d bytes ends at %d with %v, want %d and ErrStorage: %v", c.from, c.maxBytes, got, err, c.to, c.fails)
		}
	}
	h.append("t", 0, "more")
	if got, err := readFrom(t, p, 5, 10_000); got != 11 || err != nil {
		t.Errorf("with more appended, reads end at %d with %v", got, err)
	}
	if p.offline() || h.suspects() {
		t.Error("the only copy gave itself up")
	}
}

// TestRottenReplicaGivesItselfUp: a leader that finds damage goes offline once a follower
// can lead in its place, and tells the controller; the next start cuts the log there, and
// the replica is not trusted.
func TestRottenReplicaGivesItselfUp(t *testing.T) {
	h := rottenHost(t, 1, 2)
	h.close()
	var told atomic.Int32
	h.o.Offline = func() { told.Add(1) }
	h.o.LagTimeMax = time.Hour
	h.open()
	s := State{Topic: "t", TopicID: [16]byte{1}, Leader: 1, LeaderEpoch: 3, Replicas: []int32{1, 2}, ISR: Members(1, 2)}
	if err := h.Apply([]State{s}).Err(); err != nil {
		t.Fatal(err)
	}
	p := h.Partition("t", 0)
	for range 3 {
		if _, err := readFrom(t, p, 4, 1); !errors.Is(err, ErrStorage) {
			t.Fatalf("read of the rotten batch: %v, want ErrStorage", err)
		}
		h.background.Wait()
	}
	if p.offline() || told.Load() != 0 {
		t.Fatal("it is offline, and nobody has what it has")
	}
	a := p.FetchAsReplica(&ReplicaFetch{Replica: 2, BrokerEpoch: replication.NoBrokerEpoch, LeaderEpoch: 3, Offset: 10, LastEpoch: 1})
	if a.Err != nil {
		t.Fatal(a.Err)
	}
	if _, err := readFrom(t, p, 4, 1); !errors.Is(err, ErrStorage) {
		t.Fatalf("read of the rotten batch: %v, want ErrStorage", err)
	}
	h.background.Wait()
	if !p.offline() || told.Load() != 1 || !h.suspects() || !p.Status().Offline {
		t.Fatalf("offline %v, told %d times, suspect %v; want all", p.offline(), told.Load(), h.suspects())
	}
	if _, _, err := p.Append(testBatch("x"), 1, commitlog.Client); !errors.Is(err, ErrStorage) {
		t.Errorf("append: %v, want ErrStorage", err)
	}
	s.LeaderEpoch, s.Leader, s.ISR = 4, 2, Members(2)
	if err := h.Apply([]State{s}).Err(); !errors.Is(err, ErrStorage) {
		t.Errorf("told of another leader: %v, want ErrStorage until the next start", err)
	}
	if err := h.Stop([]ID{{Topic: "t"}}, false); err != nil {
		t.Fatal(err)
	}
	if err := h.Apply([]State{s}).Err(); !errors.Is(err, ErrStorage) {
		t.Errorf("stopped, and told again: %v, want ErrStorage until the next start", err)
	}
	h.close()
	h.open()
	defer h.close()
	if err := h.Apply([]State{s}).Err(); err != nil {
		t.Fatal(err)
	}
	if got := h.Partition("t", 0); got.LogEndOffset() != 4 || !got.suspect.Load() {
		t.Errorf("after a restart the log ends at %d, suspect %v; want 4 and true", got.LogEndOffset(), got.suspect.Load())
	}
}

// TestDeletedReplicaGivesItselfUp: one that is deleted before it can be marked leaves its
// log directory to the others.
func TestDeletedReplicaGivesItselfUp(t *testing.T) {
	h := rottenHost(t, 1, 2)
	defer h.close()
	p := h.Partition("t", 0)
	if err := h.Stop([]ID{{Topic: "t"}}, true); err != nil {
		t.Fatal(err)
	}
	p.giveUp(errors.New("rotten"))
	if p.dir.offline.Load() {
		t.Error("the whole log directory is offline")
	}
}

// TestRottenFollowerGivesItselfUp: it is not to lead either.
func TestRottenFollowerGivesItselfUp(t *testing.T) {
	h := rottenHost(t, 1, 2)
	defer h.close()
	if err := h.become(2, 3, false, 1, 2); err != nil {
		t.Fatal(err)
	}
	p := h.Partition("t", 0)
	if _, _, err := p.Read(ReadRequest{Offset: 4, MaxBytes: 1, LeaderEpoch: AnyEpoch, Isolation: ReadAll, WholeBatch: true, AnyReplica: true}); !errors.Is(err, ErrStorage) {
		t.Fatalf("read of the rotten batch: %v, want ErrStorage", err)
	}
	h.background.Wait()
	if !p.offline() || !h.suspects() {
		t.Errorf("offline %v, suspect %v, want both", p.offline(), h.suspects())
	}
}

// TestLeaderLooksAgainWhereAFollowerAsksAgain: what rots under a leader that wrote it is
// found once a follower, which does not take it, has asked for it a few times.
func TestLeaderLooksAgainWhereAFollowerAsksAgain(t *testing.T) {
	fs := vfs.NewMem()
	h := newHost(t, fs, "/a")
	h.open()
	defer h.close()
	s := State{Topic: "t", TopicID: [16]byte{1}, Leader: 1, LeaderEpoch: 3, Replicas: []int32{1, 2, 3}, ISR: Members(1, 2, 3)}
	if err := h.Apply([]State{s}).Err(); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		h.append("t", 0, fmt.Sprint("record ", i))
	}
	p := h.Partition("t", 0)
	ask := func(replica int32, offset int64) error {
		t.Helper()
		a := p.FetchAsReplica(&ReplicaFetch{Replica: replica, BrokerEpoch: replication.NoBrokerEpoch, LeaderEpoch: 3, Offset: offset, LastEpoch: 3})
		if a.Err != nil {
			return a.Err
		}
		chunk, _, err := p.Read(ReadRequest{Offset: offset, MaxBytes: 1, LeaderEpoch: 3, Isolation: ReadAsReplica, WholeBatch: true})
		if chunk != nil {
			p.NoteSent(replica, offset, chunk.Len())
			chunk.Release()
		}
		h.background.Wait()
		return err
	}
	if err := ask(2, 10); err != nil {
		t.Fatal(err)
	}
	file, err := fs.OpenOrCreate("/a/t-0/" + commitlog.FileName(0, commitlog.LogSuffix))
	if err != nil {
		t.Fatal(err)
	}
	data, err := vfs.ReadFile(fs, "/a/t-0/"+commitlog.FileName(0, commitlog.LogSuffix))
	if err != nil {
		t.Fatal(err)
	}
	at := int64(bytes.Index(data, []byte("record 4")))
	if _, err := file.WriteAt([]byte("r"+string([]byte{'e' ^ 4})), at); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	for range 10 * sentOften { // as one that gets nothing while a response is full
		if a := p.FetchAsReplica(&ReplicaFetch{Replica: 3, BrokerEpoch: replication.NoBrokerEpoch, LeaderEpoch: 3, Offset: 4, LastEpoch: 3}); a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	if got := p.trust.below.Load(); got != 0 {
		t.Errorf("what it was never sent is not trusted before %d", got)
	}
	for range sentOften {
		if err := ask(3, 4); err != nil {
			t.Fatalf("asked for the first times: %v", err)
		}
	}
	if err := ask(3, 4); !errors.Is(err, ErrStorage) || !p.offline() {
		t.Errorf("asked once more: %v, offline %v, want ErrStorage and true", err, p.offline())
	}
}
