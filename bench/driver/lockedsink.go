package driver

import "sync"

// lockedSink lets several goroutines of one worker report to its Sink.
type lockedSink struct {
	mu   sync.Mutex
	sink Sink
}

func newLockedSink(s Sink) *lockedSink { return &lockedSink{sink: s} }

func (l *lockedSink) Got(g Got) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sink.Got(g)
}

func (l *lockedSink) Seen(partition int32, offset, now int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sink.Seen(partition, offset, now)
}

func (l *lockedSink) Latency(ns int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sink.Latency(ns)
}
