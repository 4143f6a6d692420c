package replica

import (
	"sync"
	"time"
)

// Recovery says how far the opening of the logs is.
type Recovery struct {
	// Logs are to be opened, Opened are.
	Logs, Opened int
	// ScannedSegments and ScannedBytes had to be checked batch by batch, as they
	// lie past the recovery points of an unclean stop.
	ScannedSegments int
	ScannedBytes    int64
}

// recovery keeps count of the opening of the logs and tells people: once a second,
// with how long it will take if it goes on so, and at the end. It is safe for
// concurrent use.
type recovery struct {
	mu         sync.Mutex
	now        Recovery
	start, due time.Time
}

// Recovery says how far the opening of the logs is. It may be called while Open
// runs.
func (m *Manager) Recovery() Recovery {
	m.recovery.mu.Lock()
	defer m.recovery.mu.Unlock()
	return m.recovery.now
}

func (r *recovery) begin(now time.Time, logs int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now, r.start, r.due = Recovery{Logs: logs}, now, now.Add(time.Second)
}

func (r *recovery) step(o *Options, result openResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now.Opened++
	if result.err == nil {
		report := result.found.log.Report()
		r.now.ScannedSegments += report.SegmentsScanned
		r.now.ScannedBytes += report.ScannedBytes
	}
	now := o.Clock.Now()
	took := now.Sub(r.start)
	switch {
	case r.now.Opened == r.now.Logs:
		o.Logger.Info("logs are open", "count", r.now.Logs, "scanned_segments", r.now.ScannedSegments,
			"scanned_bytes", r.now.ScannedBytes, "took", took.Round(time.Millisecond))
	case !now.Before(r.due):
		r.due = now.Add(time.Second)
		left := took / time.Duration(r.now.Opened) * time.Duration(r.now.Logs-r.now.Opened)
		o.Logger.Info("opening logs", "done", r.now.Opened, "of", r.now.Logs, "scanned_segments", r.now.ScannedSegments,
			"scanned_bytes", r.now.ScannedBytes, "left", left.Round(time.Second))
	}
}
