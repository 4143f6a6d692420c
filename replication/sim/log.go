package sim

import (
	"tidemark/commitlog/epoch"
)

// entry is a batch of one record in a modelled log. id stands for its bytes: it
// is drawn anew for every append at a leader, so that two entries have equal ids
// only where one was copied from the other. chain is a hash over all entries up
// to this one; equal chains mean equal logs so far.
type entry struct {
	epoch   int32
	id      uint32
	chain   uint64
	control bool
}

// replicaLog models commitlog.Log for one replica on one disk: entries by offset
// from 0, which of them are on stable storage, and the leader epochs. It outlives
// the process; what a crash does to it is in disk.go.
type replicaLog struct {
	entries []entry
	epochs  epoch.Cache
	// synced is the end of what a power cut leaves for sure.
	synced int64
	// syncFailed: an fsync failed; its pages are clean and lost, and no later one
	// proves anything.
	syncFailed bool
	// directory is the id of the log directory; a wiped disk has another one.
	directory int64
}

func (l *replicaLog) end() int64 { return int64(len(l.entries)) }

// lastEpoch is the leader epoch of the last entry, -1 for an empty log.
func (l *replicaLog) lastEpoch() int32 {
	if n := len(l.entries); n > 0 {
		return l.entries[n-1].epoch
	}
	return epoch.None
}

// chainAt is the hash over all entries below offset end.
func (l *replicaLog) chainAt(end int64) uint64 {
	if end <= 0 {
		return 0
	}
	return l.entries[end-1].chain
}

// append adds an entry, whose chain it computes.
func (l *replicaLog) append(e entry) {
	e.chain = chain(l.chainAt(l.end()), e.epoch, e.id)
	l.epochs.Assign(e.epoch, l.end())
	l.entries = append(l.entries, e)
}

func (l *replicaLog) truncate(end int64) {
	l.entries = l.entries[:end]
	l.epochs.TruncateEnd(end)
	l.synced = min(l.synced, end)
}

// endOffset answers OffsetForLeaderEpoch.
func (l *replicaLog) endOffset(asked int32) (found int32, end int64) {
	return l.epochs.EndOffset(asked, l.end())
}

// chain is the SplitMix64 finaliser over the previous hash and the entry.
func chain(previous uint64, epoch int32, id uint32) uint64 {
	x := previous ^ (uint64(uint32(epoch))<<32 | uint64(id)) + 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
