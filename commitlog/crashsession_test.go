package commitlog

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/commitlog/index"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

// session drives one log through random operations and knows what it must hold,
// at every moment of every operation: after a power cut the log is a prefix of
// what was appended, with everything that was promised.
type session struct {
	*world
	rng *rand.Rand
	// batches are what may be found, by base offset, each with its offsets and
	// epoch as it lies in the log.
	batches map[int64]string
	// end is the most the log end offset may be, start the least offset that
	// is still owed: what lies before may be gone, in any part.
	start, end int64
	// synced is what was promised: offsets before it survive.
	synced int64
	// restart is where an operation under way may begin the log anew; −1 while
	// none does.
	restart int64
	// checkpoint is what the log directory's checkpoints say, durably.
	checkpoint OpenState
	epoch      int32
}

func newSession(w *world, seed uint64) *session {
	w.o.RetentionBytes = 2500
	return &session{world: w, rng: rand.New(rand.NewPCG(seed, 7)), batches: map[int64]string{}, restart: -1}
}

// step does one random operation.
func (s *session) step() {
	s.t.Helper()
	switch n := s.rng.IntN(100); {
	case n < 40:
		s.append()
	case n < 48:
		s.fetch()
	case n < 60:
		s.must(s.Flush())
		s.synced = s.end
	case n < 65:
		s.must(s.Roll())
	case n < 71:
		s.truncate()
	case n < 72:
		s.startAnew()
	case n < 78:
		s.retain()
	case n < 83:
		s.deleteRecords()
	case n < 88:
		s.reconfigure()
	case n < 92:
		s.reopen()
	case n < 96:
		s.saveCheckpoint()
	default:
		s.clock.Advance(2 * time.Minute) // Doomed files go.
	}
}

func (s *session) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) append() {
	s.t.Helper()
	if s.rng.IntN(10) == 0 {
		s.epoch++
	}
	b := idempotent(5, 0, s.nextSequence(), 3)
	s.expect(bytes.Clone(b))
	if info := s.mustAppend(b, s.epoch); info.BaseOffset != s.end-3 {
		s.t.Fatalf("appended at %d, want %d", info.BaseOffset, s.end-3)
	}
}

// expect notes the batch that is about to be appended, and makes it what it will be
// in the log.
func (s *session) expect(b record.Batch) record.Batch {
	b.SetBaseOffset(s.end)
	b.SetLeaderEpoch(s.epoch)
	s.batches[s.end] = string(b)
	s.end += 3
	return b
}

// fetch appends some batches at once, as a follower does.
func (s *session) fetch() {
	s.t.Helper()
	var fetched []byte
	sequence := s.nextSequence()
	for range 1 + s.rng.IntN(8) {
		fetched = append(fetched, s.expect(idempotent(5, 0, sequence, 3))...)
		sequence += 3
	}
	if info, err := s.AppendAsFollower(fetched); err != nil || info.LastOffset != s.end-1 {
		s.t.Fatalf("fetched up to %d: %+v, %v", s.end, info, err)
	}
}

// nextSequence is what the log expects of the producer.
func (s *session) nextSequence() int32 {
	for _, p := range s.Producers() {
		return p.LastSequence + 1
	}
	return int32(s.end)
}

// truncate drops the tail from a random batch on; the next leader has a new
// epoch.
func (s *session) truncate() {
	s.t.Helper()
	to := s.start + 3*s.rng.Int64N((s.end-s.start)/3+1)
	if to == s.end {
		s.must(s.TruncateTo(to)) // Which does nothing.
		return
	}
	s.synced = min(s.synced, to)
	if to == s.start {
		s.synced, s.restart = 0, to // What is left of it, if any, lies before the start.
	}
	s.must(s.TruncateTo(to))
	s.truncated(to)
}

// startAnew drops everything and begins behind a gap.
func (s *session) startAnew() {
	s.t.Helper()
	at := s.end + 3*s.rng.Int64N(4)
	s.synced, s.restart = 0, at
	s.must(s.TruncateFullyAndStartAt(at))
	s.start = at
	s.truncated(at)
}

func (s *session) truncated(end int64) {
	for base := range s.batches {
		if base >= end || s.restart >= 0 {
			delete(s.batches, base)
		}
	}
	s.end, s.synced, s.restart = end, end, -1
	s.epoch++
	s.saveCheckpoint() // As TruncateTo asks for.
}

func (s *session) retain() {
	s.t.Helper()
	s.start = max(s.start, s.view.active().base)
	_, err := s.ApplyRetention(s.clock.Now(), s.end)
	s.must(err)
	s.start = s.LogStartOffset()
}

func (s *session) deleteRecords() {
	s.t.Helper()
	s.start += 3 * s.rng.Int64N((s.end-s.start)/3+1)
	s.must(s.AdvanceLogStart(s.start))
}

func (s *session) reconfigure() {
	s.t.Helper()
	s.o.SegmentBytes = 600 + s.rng.Int64N(1500)
	s.o.IndexIntervalBytes = s.rng.Int64N(400)
	s.must(s.Reconfigure(s.o))
}

// reopen closes the log in order and opens it again.
func (s *session) reopen() {
	s.t.Helper()
	s.close()
	s.synced = s.end
	clean := s.state
	s.saveCheckpoint()
	s.state = clean
	s.open()
}

// saveCheckpoint is what the owner of a log directory does now and then, and
// before it opens a log again.
func (s *session) saveCheckpoint() {
	s.checkpoint = OpenState{RecoveryPoint: s.RecoveryPoint(), LogStartOffset: s.LogStartOffset()}
}

// recovered opens what a power cut left in fsys and holds it against the session
// it was cut out of. The session that is returned goes on from there.
func (s *session) recovered(fsys vfs.FS, seed uint64) *session {
	s.t.Helper()
	w := newWorld(s.t)
	w.fs, w.dir, w.o, w.state = fsys, s.dir, s.o, s.checkpoint
	w.clock.Advance(s.clock.Now().Sub(testStart))
	w.open()
	next := &session{
		world: w, rng: rand.New(rand.NewPCG(seed, 11)), batches: map[int64]string{}, restart: -1, epoch: s.epoch + 1,
		start: w.LogStartOffset(), end: w.LogEndOffset(), synced: w.LogEndOffset(), checkpoint: s.checkpoint,
	}
	for _, b := range w.readAll(w.LogStartOffset()) {
		next.batches[b.BaseOffset()] = string(b)
	}
	s.checkShape(next)
	s.checkIdempotence(next)
	// What is left is whole: a second recovery of it, even after another cut,
	// finds nothing to do.
	w.crash()
	w.state = s.checkpoint
	if mem, ok := fsys.(*vfs.Mem); ok {
		w.fs = mem.CrashClone(0)
	}
	w.open()
	again := &session{world: w, batches: map[int64]string{}}
	for _, b := range w.readAll(w.LogStartOffset()) {
		again.batches[b.BaseOffset()] = string(b)
	}
	if !maps.Equal(next.batches, again.batches) || w.LogEndOffset() != next.end || w.Report().TruncatedBytes > 0 {
		s.t.Fatalf("a second recovery changes the log, which ended at %d and ends at %d (-first +second):\n%s",
			next.end, w.LogEndOffset(), cmp.Diff(next.batches, again.batches))
	}
	w.fs = fsys
	w.crash()
	w.state = s.checkpoint
	w.open()
	return next
}

// checkShape holds what was found against what may be there and what must.
func (s *session) checkShape(found *session) {
	s.t.Helper()
	end := found.end
	if end < s.synced || end > s.end && end != s.restart && end != s.checkpoint.LogStartOffset {
		s.t.Fatalf("the log ends at %d, want %d to %d (restart at %d)", end, s.synced, s.end, s.restart)
	}
	for base, b := range found.batches {
		if want, ok := s.batches[base]; !ok || b != want {
			s.t.Fatalf("the batch at %d was never appended there", base)
		}
	}
	owed := max(s.start, found.start)
	if s.restart >= 0 && found.start == s.restart {
		owed = s.restart
	}
	if found.start > s.start && found.start != s.restart {
		s.t.Fatalf("the log starts at %d, %d and later are owed", found.start, s.start)
	}
	for base := range s.batches {
		if base >= owed && base < end && found.batches[base] == "" {
			s.t.Fatalf("the batch at %d is missing from a log of %d to %d", base, found.start, end)
		}
	}
}

// checkIdempotence: the last batch is known as such, so a retry is none.
func (s *session) checkIdempotence(found *session) {
	s.t.Helper()
	last, ok := found.batches[found.end-3]
	if !ok {
		return
	}
	b := record.Batch(last)
	retry := idempotent(5, 0, b.BaseSequence(), 3)
	if info := found.mustAppend(retry, found.epoch); !info.Duplicate || info.BaseOffset != found.end-3 {
		s.t.Fatalf("a retry of the last batch, at %d, after recovery: %+v", found.end-3, info)
	}
}

// goOn does more operations on a recovered log, closes it, opens it and holds all
// of it against what was appended, its indexes included.
func (s *session) goOn(operations int) {
	s.t.Helper()
	for range operations {
		s.step()
	}
	s.reopen()
	got := map[int64]string{}
	for _, b := range s.readAll(s.start) {
		got[b.BaseOffset()] = string(b)
	}
	want := map[int64]string{}
	for base, b := range s.batches {
		if base >= s.start {
			want[base] = b
		}
	}
	if !maps.Equal(want, got) || s.LogEndOffset() != s.end {
		s.t.Fatalf("after recovery and %d more operations the log ends at %d, want %d (-want +got):\n%s",
			operations, s.LogEndOffset(), s.end, cmp.Diff(want, got))
	}
	s.close()
	s.checkIndexes()
}

// checkIndexes: every entry names a batch that is there.
func (s *session) checkIndexes() {
	s.t.Helper()
	for _, name := range s.names() {
		base, suffix, ok := ParseFileName(name)
		if !ok || suffix != IndexSuffix {
			continue
		}
		positions := map[int64]int64{}
		at := int64(0)
		for rest := s.content(strings.TrimSuffix(name, suffix) + LogSuffix); len(rest) > 0; {
			b, next, err := record.Parse(rest)
			s.must(err)
			positions[b.LastOffset()] = at
			at, rest = at+int64(b.Size()), next
		}
		entries, err := index.DecodeOffsets(s.content(name), base)
		s.must(err)
		for _, e := range entries {
			if at, ok := positions[e.Offset]; !ok || at != e.Position {
				s.t.Fatalf("%s: offset %d at %d, want %d", name, e.Offset, e.Position, at)
			}
		}
	}
}

// emptyMem is a file system in memory in which the log directory's parent is
// durable.
func (s *session) emptyMem() *vfs.Mem {
	mem := vfs.NewMem()
	s.must(errors.Join(mem.MkdirAll(filepath.Dir(s.dir)), mem.SyncDir("/")))
	return mem
}
