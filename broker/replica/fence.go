package replica

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"tidemark/commitlog"
	"tidemark/internal/vfs"
	"tidemark/replication"
)

// fencing is a replica's promise to a controller.
type fencing struct {
	// due is the leader epoch promised to, written what of it the file says.
	due, written int32
	// answer is told of the promise, nil while nobody asks.
	answer func(FenceAnswer)
}

// Fence has a replica promise to take nothing from leaders of lower epochs. answer
// is called once, from another goroutine: when the promise is on stable storage and,
// where synced records count, the log too, or when a later Fence took its place or the
// replica went away. A partition that was not applied yet is opened. One of another
// topic of the same name stays: only who gives out roles knows which of them is over.
func (m *Manager) Fence(r FenceRequest, answer func(FenceAnswer)) {
	p, err := m.fenced(&r)
	if err != nil {
		m.background.Go(func() { answer(FenceAnswer{Err: err}) })
		return
	}
	p.mu.Lock() // Appends under way come first.
	p.stepping.Lock()
	p.forsakeFence()
	p.fencing.answer = answer
	p.controllerEpoch = max(p.controllerEpoch, r.ControllerEpoch)
	p.tellSynced()
	p.step(&replication.Event{Kind: replication.Fence, Now: m.now(), LeaderEpoch: r.LeaderEpoch, ControllerEpoch: r.ControllerEpoch})
	p.leaveFetcher()
	p.refreshAdmits()
	changed := p.unlock()
	p.mu.Unlock()
	if changed {
		p.Changed.Wake()
	}
}

// fenced finds the partition, or opens it.
func (m *Manager) fenced(r *FenceRequest) (*Partition, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, commitlog.ErrClosed
	}
	s := State{Topic: r.Topic, TopicID: r.TopicID, Index: r.Partition}
	if !ValidName(s.Topic) || s.Index < 0 {
		return nil, fmt.Errorf("%q is no topic name", s.Topic)
	}
	if t := m.Topic(s.Topic); t != nil && t.ID != s.TopicID {
		return nil, ErrUnknownPartition
	}
	p, err := m.partitionFor(&s)
	if err == nil && p.offline() {
		err = ErrStorage
	}
	return p, err
}

// answerFence answers who asked, if the promise is written.
func (p *Partition) answerFence(e *replication.Effect) {
	answer := p.fencing.answer
	if answer == nil {
		return
	}
	p.fencing.answer = nil
	a := FenceAnswer{Failure: e.Failure, LeaderEpoch: e.LeaderEpoch, LastEpoch: e.RecordEpoch, LogEndOffset: e.Offset, Dir: e.Dir}
	if p.suspect.Load() && p.promise == replication.Majority {
		a.Dir = replication.DirID{} // It is heard, and does not vote.
	}
	if err := p.writeFence(); err != nil {
		a = FenceAnswer{Err: err}
	}
	p.background.Go(func() { answer(a) })
}

// errForsaken is what is answered to a Fence that comes to nothing.
var errForsaken = errors.New("the promise was not given before another was asked for, or the replica went away")

// forsakeFence answers who asked for a promise and gets none; stepping is held.
func (p *Partition) forsakeFence() {
	if answer := p.fencing.answer; answer != nil {
		p.fencing.answer = nil
		p.background.Go(func() { answer(FenceAnswer{Err: errForsaken}) })
	}
}

// writeFence writes the promise unless it stands.
func (p *Partition) writeFence() error {
	f := &p.fencing
	if f.due <= f.written {
		return nil
	}
	if err := vfs.WriteFileAtomic(p.dir.fs, fencePath(p.log), []byte(strconv.Itoa(int(f.due))+"\n")); err != nil {
		if !vfs.IsFull(err) {
			p.dir.fail(fmt.Errorf("write fenced epoch of %s: %w", p.ID(), err))
		}
		return fmt.Errorf("%w: write fenced epoch of %s: %w", ErrStorage, p.ID(), err)
	}
	f.written = f.due
	return nil
}

// fenceFile lies in a partition's directory and holds the leader epoch promised to.
const fenceFile = "fenced-epoch"

func fencePath(l *commitlog.Log) string { return filepath.Join(l.Dir(), fenceFile) }

// readFence is the promise of a log; NoEpoch where there is none.
func readFence(fsys vfs.FS, l *commitlog.Log) (int32, error) {
	text, err := vfs.ReadFile(fsys, fencePath(l))
	if errors.Is(err, fs.ErrNotExist) {
		return replication.NoEpoch, nil
	}
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 32)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s: %q is no leader epoch: restore the file, or remove the partition's directory to copy it from the others", fencePath(l), text)
	}
	return int32(n), nil
}
