package trace

import (
	"io"
	"sync"
	"time"
)

// Sink takes events. It must not keep the event or its slices.
type Sink interface{ Write(e *Event) }

// Tracer numbers the events of one broker and hands them to a sink. It is safe
// for concurrent use where its sink is, and a broker's events reach the sink in the
// order of their numbers. A nil Tracer is off.
type Tracer struct {
	broker int32
	sink   Sink
	now    func() time.Duration // nil where events bring their time

	mu   sync.Mutex
	seq  uint64
	last Event // what is being written; kept here so that it is not allocated
}

// NewTracer returns the tracer of a broker, or of Outside.
func NewTracer(broker int32, sink Sink) *Tracer { return &Tracer{broker: broker, sink: sink} }

// NewClockedTracer returns a tracer that goes on after the event with that number,
// and whose events are at now, which must not block.
func NewClockedTracer(broker int32, sink Sink, after uint64, now func() time.Duration) *Tracer {
	return &Tracer{broker: broker, sink: sink, now: now, seq: after}
}

// On says whether events are wanted; whoever has to work for an event asks
// first.
func (t *Tracer) On() bool { return t != nil }

// Emit gives the event its ID, writes it, and returns the ID as the cause of
// what follows: the zero ID where tracing is off.
func (t *Tracer) Emit(e Event) ID {
	if t == nil {
		return ID{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seq++
	e.ID = ID{Broker: t.broker, Seq: t.seq}
	if t.now != nil {
		e.At = t.now()
	}
	t.last = e
	t.sink.Write(&t.last)
	return e.ID
}

// Writer is a sink that writes trace.jsonl. It is safe for concurrent use. The
// first error of the underlying writer is kept and what follows is dropped.
type Writer struct {
	mu  sync.Mutex
	w   io.Writer
	buf []byte
	err error
}

// writerBytes is how much a Writer gathers before it writes.
const writerBytes = 64 << 10

// NewWriter returns a Writer on w, which stays the caller's to close after
// Flush.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w, buf: make([]byte, 0, writerBytes+4096)} }

// Write implements Sink.
func (w *Writer) Write(e *Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(AppendJSON(w.buf, e), '\n')
	if len(w.buf) >= writerBytes {
		w.flush()
	}
}

// Flush writes what is gathered and returns the first error there was.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flush()
	return w.err
}

func (w *Writer) flush() {
	if w.err == nil && len(w.buf) > 0 {
		_, w.err = w.w.Write(w.buf)
	}
	w.buf = w.buf[:0]
}
