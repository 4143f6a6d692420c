// Package commitlog stores one replica's log: record batches in wire form, back
// to back in segment files with Kafka's names and bytes, with the offset and time
// indexes, the leader epochs and the producer state beside them (Kafka's
// UnifiedLog, LocalLog and LogLoader in one).
//
// A Log gives offsets, patches them and the leader epoch into the batch where it
// lies, and hands the bytes to an append engine once; it finds whole batches and
// hands them out as chunks of a read engine. It promises that after a crash every
// synced batch is there, that what is there is a prefix of what was appended, and
// that damage is reported, never served (Open, OpenReport).
//
// It knows nothing of replication: the high watermark, who leads, and when an
// append counts are its user's business, as are the checkpoints of the log
// directory (package checkpoint), whose values go in through OpenState and out
// through RecoveryPoint and LogStartOffset.
//
// The files are described in docs/formats/.
package commitlog

import (
	"sync"
	"sync/atomic"

	"tidemark/commitlog/epoch"
	"tidemark/commitlog/producer"
	"tidemark/engines"
	"tidemark/internal/clock"
	"tidemark/internal/vfs"
)

// Log is one replica's log. All methods are safe for concurrent use, Close and
// Delete included.
//
// Locks, in order: cleaning, maintenance, mu; viewMu, a segment's mu and that of
// unstable are leaves. An
// append takes mu and viewMu and never waits for a sync, a deletion or a reader.
type Log struct {
	fs    vfs.FS
	dir   string
	clock clock.Clock
	// spawn runs a task in the background; tests replace it.
	spawn func(task func())
	// tasks are background tasks and armed timers.
	tasks  sync.WaitGroup
	report OpenReport
	// firstScanned is the base offset of the first segment that Open scanned,
	// math.MaxInt64 if none.
	firstScanned int64

	options atomic.Pointer[Options]
	// failure is why the log takes no more appends; set once.
	failure atomic.Pointer[error]
	// recoveryPoint is the offset before which everything is synced.
	recoveryPoint atomic.Int64
	cache         cacheState
	// backlog is len(sealing).
	backlog atomic.Int32
	// namesChanged: files were created or renamed since the directory was synced.
	namesChanged atomic.Bool

	// maintenance is held by whoever flushes, seals, truncates, deletes or
	// closes: one at a time, whatever it takes.
	maintenance sync.Mutex
	// unsyncedAborted: a transaction index that Open made anew is in memory only.
	// Guarded by maintenance.
	unsyncedAborted bool
	// cleaning is held by a round of cleaning, which takes maintenance only to
	// begin and to swap segments.
	cleaning sync.Mutex
	// closing is closed with the log.
	closing chan struct{}
	// firstDirty is the first offset that is not cleaned.
	firstDirty atomic.Int64
	// unstable are the transactions that bound the last stable offset. Changed with
	// mu held.
	unstable unstable

	// mu guards what follows; it serializes appends.
	mu       sync.Mutex
	closed   bool
	appender engines.Appender // of the active segment
	indexer  indexer          // of the active segment
	age      segmentAge
	// sealing are rolled segments whose appender is still open, oldest first.
	sealing   []*sealing
	producers *producer.State
	// buffers is the argument of Appender.Append, kept to save an allocation.
	buffers [1][]byte
	// receiving is the batch that AppendInPlace is at, kept likewise.
	receiving receiving
	timers    map[*timer]struct{}
	// flushArmed: a timer will flush.
	flushArmed bool
	// doomed are removed segments whose files are still there.
	doomed []*segment
	// truncations counts them: a round of cleaning must not go on after one.
	truncations int

	// viewMu guards what follows. Who writes holds mu too, so whoever holds mu
	// may read without viewMu.
	viewMu sync.Mutex
	view   view
	epochs epoch.Cache
}

// timer is an armed call of Log.after.
type timer struct{ clock.Timer }

// Report returns what Open found and did.
func (l *Log) Report() OpenReport { return l.report }

// Dir is the directory of the log.
func (l *Log) Dir() string { return l.dir }

// RecoveryPoint is the offset before which everything is on stable storage; it
// goes into the recovery-point checkpoint of the log directory.
func (l *Log) RecoveryPoint() int64 { return l.recoveryPoint.Load() }

// Producers lists the remembered producers by id.
func (l *Log) Producers() []producer.Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.producers.Entries()
}

// Err is the failure after which the log takes no more appends; nil while there
// is none. The log directory is to be taken offline.
func (l *Log) Err() error {
	if err := l.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// usable says whether the log can be changed; mu is held.
func (l *Log) usable() error {
	if l.closed {
		return ErrClosed
	}
	return l.Err()
}
