package commitlog

import (
	"fmt"

	"tidemark/commitlog/epoch"
	"tidemark/internal/vfs"
)

// LatestEpoch is the newest leader epoch of the log; ok is false where there is
// none.
func (l *Log) LatestEpoch() (leaderEpoch int32, ok bool) {
	l.viewMu.Lock()
	defer l.viewMu.Unlock()
	return l.epochs.Latest()
}

// Epochs lists the leader epochs of the log and where they began, oldest first.
func (l *Log) Epochs() []epoch.Entry {
	l.viewMu.Lock()
	defer l.viewMu.Unlock()
	return l.epochs.Entries()
}

// EndOffsetForEpoch answers OffsetForLeaderEpoch (KIP-101, KIP-320): the largest
// epoch of the log that is at most leaderEpoch and the offset at which it ended;
// (-1, -1) where the epoch is newer than any or there is none.
func (l *Log) EndOffsetForEpoch(leaderEpoch int32) (foundEpoch int32, endOffset int64) {
	l.viewMu.Lock()
	defer l.viewMu.Unlock()
	return l.epochs.EndOffset(leaderEpoch, l.view.end)
}

// AssignEpoch notes that leaderEpoch begins at start, as a new leader does with
// its log end offset before its first append. The checkpoint is durable on
// return. An epoch that is not newer than the latest is no news.
func (l *Log) AssignEpoch(leaderEpoch int32, start int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	return l.assignEpoch(leaderEpoch, start)
}

// assignEpoch is AssignEpoch; mu is held.
func (l *Log) assignEpoch(leaderEpoch int32, start int64) error {
	if latest, ok := l.epochs.Latest(); leaderEpoch < 0 || ok && leaderEpoch <= latest {
		return nil
	}
	return l.changeEpochs(func(c *epoch.Cache) bool { return c.Assign(leaderEpoch, start) })
}

// changeEpochs applies a change and writes the checkpoint if it was one; mu is
// held. The change shows only once it is durable.
func (l *Log) changeEpochs(change func(c *epoch.Cache) bool) error {
	var next epoch.Cache
	next.Load(l.epochs.Entries())
	if !change(&next) {
		return nil
	}
	if err := vfs.WriteFileAtomic(l.fs, l.path(epoch.File), epoch.Encode(next.Entries())); err != nil {
		return l.writeFailed(fmt.Errorf("leader epochs: %w", err))
	}
	l.viewMu.Lock()
	l.epochs = next
	l.viewMu.Unlock()
	return nil
}

// forgetEpochs drops what the leader epochs know of offsets before start; mu is
// held. Nothing is written: an append must not wait for the disk here, and Open
// drops the same of what the checkpoint has.
func (l *Log) forgetEpochs(start int64) {
	var next epoch.Cache
	next.Load(l.epochs.Entries())
	if next.TruncateStart(start) {
		l.viewMu.Lock()
		l.epochs = next
		l.viewMu.Unlock()
	}
}
