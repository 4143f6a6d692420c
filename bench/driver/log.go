package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"tidemark/bench/schedule"
	"tidemark/commitlog"
	"tidemark/internal/clock"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

// logs drives package commitlog in this process: the storage engines without
// network and protocol. Every partition is one log.
type logs struct {
	options Options
	pool    *pool
	dir     string
	parts   []*commitlog.Log
	next    []int64
}

func openLog(o Options) (Session, error) {
	pool, err := newPool(o.Load, o.Seed)
	if err != nil {
		return nil, err
	}
	options, err := logOptions(o)
	if err != nil {
		return nil, err
	}
	s := &logs{options: o, pool: pool, dir: filepath.Join(o.Dir, o.Topic), next: make([]int64, o.Load.Partitions)}
	for p := range o.Load.Partitions {
		dir := filepath.Join(s.dir, o.Topic+"-"+strconv.Itoa(p))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		l, err := commitlog.Open(vfs.OS{}, dir, options, commitlog.OpenState{}, clock.Real{})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open log %s: %w", dir, err), s.Close())
		}
		s.parts = append(s.parts, l)
	}
	return s, nil
}

// logOptions translates the topic properties that a log knows; another one
// cannot be measured without a broker.
func logOptions(o Options) (commitlog.Options, error) {
	out := commitlog.DefaultOptions()
	topic := map[string]string{"storage.append.engine": "buffered", "storage.read.engine": "pread", "storage.validation": "records"}
	for name, value := range o.Load.Topic {
		topic[name] = value
	}
	var err error
	for name, value := range topic {
		switch name {
		case "storage.append.engine":
			out.Append, err = o.Engines.Append(value)
		case "storage.read.engine":
			out.Read, err = o.Engines.Read(value)
		case "storage.validation":
			out.Validation = record.Records
			if value == "header" {
				out.Validation = record.HeaderOnly
			}
		case "segment.bytes":
			out.SegmentBytes, err = strconv.ParseInt(value, 10, 64)
		case "index.interval.bytes":
			out.IndexIntervalBytes, err = strconv.ParseInt(value, 10, 64)
		case "flush.messages":
			out.FlushMessages, err = strconv.ParseInt(value, 10, 64)
		default:
			err = errors.New("the log driver does not know this topic property")
		}
		if err != nil {
			return out, fmt.Errorf("%s=%s: %w", name, value, err)
		}
	}
	return out, nil
}

// Unit implements Session: one send is one batch.
func (s *logs) Unit() Unit { return s.pool.unit() }

// Produce implements Session.
func (s *logs) Produce(ctx context.Context, worker int, f Feed) (int64, error) {
	partitions := mine(worker, s.options.Load.Producers, s.options.Load.Partitions)
	if len(partitions) == 0 {
		return 0, nil
	}
	// The log patches offsets in place, and other producers use the same pool.
	own := make([][]byte, len(s.pool.batches))
	for i, b := range s.pool.batches {
		own[i] = append([]byte(nil), b...)
	}
	var held int64 // in the append before
	for turn := 0; ctx.Err() == nil; turn++ {
		due, ok := f.Next()
		if !ok {
			return 0, nil
		}
		p := partitions[turn%len(partitions)]
		batch := record.Batch(own[s.next[p]%int64(len(own))])
		batch.SetBaseOffset(0) // as a producer sends it; the last append wrote its own
		s.next[p]++
		sent := schedule.Now()
		f.Sent(due, sent, Send{s.pool.records, int64(len(batch)), held})
		info, err := s.parts[p].AppendAsLeader(batch, 0, commitlog.Client)
		if err != nil {
			f.Failed(due, s.pool.records)
			return 0, fmt.Errorf("append to partition %d: %w", p, err)
		}
		held = schedule.Now()
		f.Acked(Ack{Due: due, Sent: sent, Now: held, Records: s.pool.records, Wire: int64(len(batch)), Partition: p, Offset: info.BaseOffset})
	}
	return 0, nil
}

// Fetch implements Session: chunks are written to nowhere, so an engine that
// leaves the copy to the kernel has none to leave here.
func (s *logs) Fetch(ctx context.Context, worker int, sink Sink) error {
	partitions := mine(worker, s.options.Load.Consumers, s.options.Load.Partitions)
	offsets := make([]int64, len(partitions))
	for turn := 0; ctx.Err() == nil && len(partitions) > 0; turn++ {
		i := turn % len(partitions)
		began := schedule.Now()
		records, bytes, err := s.read(partitions[i], offsets[i])
		if err != nil {
			return err
		}
		now := schedule.Now()
		sink.Got(Got{Now: now, ServiceNs: now - began, Records: records, Wire: bytes})
		if offsets[i] += records; records == 0 {
			if offsets[i] == 0 {
				return nil // an empty partition would be read forever
			}
			offsets[i] = 0
		}
	}
	return nil
}

func (s *logs) read(p int32, offset int64) (records, bytes int64, err error) {
	l := s.parts[p]
	info, err := l.Read(offset, int64(s.options.Load.FetchMaxBytes), l.LogEndOffset(), true)
	if err != nil {
		return 0, 0, fmt.Errorf("read partition %d at %d: %w", p, offset, err)
	}
	if info.Chunk == nil {
		return 0, 0, nil
	}
	defer info.Chunk.Release()
	bytes, err = info.Chunk.WriteTo(io.Discard)
	if err != nil {
		return 0, 0, fmt.Errorf("copy partition %d at %d: %w", p, offset, err)
	}
	records, err = s.pool.walk(offset/s.pool.records, bytes)
	return records, bytes, err
}

// Follow has no waiting read to follow with.
func (s *logs) Follow(context.Context, int, Sink) error {
	return errors.New("the log driver cannot follow (tail needs a broker)")
}

// Count implements Session.
func (s *logs) Count(context.Context) (sum int64, err error) {
	for _, l := range s.parts {
		sum += l.LogEndOffset() - l.LogStartOffset()
	}
	return sum, nil
}

// Close implements Session: the files are deleted.
func (s *logs) Close() error {
	var errs []error
	for _, l := range s.parts {
		errs = append(errs, l.Close())
	}
	s.parts = nil
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}
