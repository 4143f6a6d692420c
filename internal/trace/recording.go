package trace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// FileName is the name of a broker's trace in a trace directory; Outside has
// trace-faults.jsonl.
func FileName(broker int32) string {
	if broker == Outside {
		return "trace-faults.jsonl"
	}
	return "trace-" + strconv.Itoa(int(broker)) + ".jsonl"
}

// Recording is a tracer with its file. A nil Recording records nothing.
type Recording struct {
	tracer *Tracer
	queue  *Queue
	file   *os.File
}

// Record opens a broker's trace in a directory, which it creates, and goes on after
// the last event that is there; half a line that a crash left is cut off. now is the
// time since 1970 and must not block; failed as in NewQueue.
func Record(dir string, broker int32, now func() time.Duration, failed func(error)) (*Recording, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	path := filepath.Join(dir, FileName(broker))
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	last, end, err := tail(file)
	if err == nil {
		err = file.Truncate(end)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("trace: %s: %w", path, err), file.Close())
	}
	r := &Recording{file: file, queue: NewQueue(file, failed)}
	r.tracer = NewClockedTracer(broker, r.queue, last.ID.Seq, now)
	return r, nil
}

// Tracer is where events go; nil of a nil Recording.
func (r *Recording) Tracer() *Tracer {
	if r == nil {
		return nil
	}
	return r.tracer
}

// Dropped is how many events were lost so far.
func (r *Recording) Dropped() int64 {
	if r == nil {
		return 0
	}
	return r.queue.Dropped()
}

// Close writes what is left. Events that come later are not written.
func (r *Recording) Close() error {
	if r == nil {
		return nil
	}
	return errors.Join(r.queue.Close(), r.file.Close())
}

// tail reads the last whole line of a trace and says where it ends.
func tail(file *os.File) (last Event, end int64, err error) {
	info, err := file.Stat()
	if err != nil {
		return Event{}, 0, err
	}
	size := info.Size()
	data := make([]byte, min(size, 2*maxLine))
	if _, err := file.ReadAt(data, size-int64(len(data))); err != nil {
		return Event{}, 0, err
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	if whole == 0 {
		if size > maxLine {
			return Event{}, 0, errLongLine
		}
		return Event{}, 0, nil // nothing, or half a line
	}
	start := bytes.LastIndexByte(data[:whole-1], '\n') + 1
	last, err = Decode(data[start : whole-1])
	if err != nil {
		return Event{}, 0, fmt.Errorf("%w: this is no trace; move the file away", err)
	}
	return last, size - int64(len(data)-whole), nil
}

// Add adds one event of an emitter that has no Recording, such as a command, to its
// trace in a directory. Callers see to it that only one does at a time.
func Add(dir string, broker int32, now time.Duration, e Event) error {
	r, err := Record(dir, broker, func() time.Duration { return now }, nil)
	if err != nil {
		return err
	}
	r.tracer.Emit(e)
	return r.Close()
}
