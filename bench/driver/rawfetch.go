package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/bench/schedule"
)

// fetching is one consumer connection of the raw driver.
type fetching struct {
	*raw
	conn      net.Conn
	answer    fetchAnswer
	header    []byte
	discard   *discarder
	correlate int32
}

// fetching connects to the leader of a partition.
func (r *raw) fetching(ctx context.Context, partition int32) (*fetching, func(), error) {
	conn, err := r.dial(ctx, partition)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	answer := newFetchAnswer(r.options.Topic)
	f := &fetching{raw: r, conn: conn, answer: answer, header: make([]byte, answer.header), discard: newDiscarder(conn)}
	return f, func() { stop(); _ = conn.Close() }, nil // nothing is buffered in it
}

// cursor is one partition's place in a scan.
type cursor struct {
	partition   int32
	offset      int64
	start, end  int64
	request     []byte
	correlation int32
	sent        int64
}

// Fetch implements Session: it keeps two requests on the wire, for two
// partitions in turn, and lets the kernel drop the records unread.
func (r *raw) Fetch(ctx context.Context, worker int, s Sink) error {
	ends, err := r.admin.ends(ctx)
	if err != nil {
		return err
	}
	starts, err := r.admin.starts(ctx)
	if err != nil {
		return err
	}
	partitions := r.consumers[worker]
	if len(partitions) == 0 {
		return nil
	}
	f, done, err := r.fetching(ctx, partitions[0])
	if err != nil {
		return err
	}
	defer done()
	var cursors []*cursor
	for _, p := range partitions {
		if ends[p] > starts[p] {
			cursors = append(cursors, &cursor{partition: p, offset: starts[p], start: starts[p], end: ends[p], request: fetchRequest(r.options.Topic, 500, int32(r.options.Load.FetchMaxBytes))})
		}
	}
	if len(cursors) == 0 {
		return nil
	}
	err = f.scan(ctx, cursors, s)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (f *fetching) scan(ctx context.Context, cursors []*cursor, s Sink) error {
	depth := min(2, len(cursors))
	for i := range depth {
		if err := f.ask(cursors[i]); err != nil {
			return err
		}
	}
	for turn := 0; ctx.Err() == nil; turn++ {
		c := cursors[turn%len(cursors)]
		bytes, err := f.receive(c.correlation)
		if errors.Is(err, kerr.OffsetOutOfRange) { // retention took the start away
			if err := f.restart(ctx, c); err != nil {
				return err
			}
			if err := f.ask(cursors[(turn+depth)%len(cursors)]); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if err := f.discard.skip(bytes); err != nil {
			return fmt.Errorf("read fetched records: %w", err)
		}
		records, err := f.pool.walk(c.offset/f.pool.records, int64(bytes))
		if err != nil {
			return fmt.Errorf("partition %d at offset %d: %w", c.partition, c.offset, err)
		}
		now := schedule.Now()
		s.Got(Got{Now: now, ServiceNs: now - c.sent, Records: records, Wire: int64(bytes)})
		if c.offset += records; c.offset >= c.end {
			c.offset = c.start
		}
		if err := f.ask(cursors[(turn+depth)%len(cursors)]); err != nil {
			return err
		}
	}
	return nil
}

// restart moves a cursor to where its partition begins now.
func (f *fetching) restart(ctx context.Context, c *cursor) error {
	starts, err := f.admin.starts(ctx)
	if err != nil {
		return err
	}
	c.start = starts[c.partition]
	c.offset = c.start
	return nil
}

func (f *fetching) ask(c *cursor) error {
	f.correlate++
	c.correlation, c.sent = f.correlate, schedule.Now()
	setFetch(c.request, c.correlation, c.partition, c.offset)
	if _, err := f.conn.Write(c.request); err != nil {
		return fmt.Errorf("write a fetch request: %w", err)
	}
	return nil
}

// receive reads up to the first byte of the records and returns their length.
func (f *fetching) receive(correlation int32) (int, error) {
	if _, err := io.ReadFull(f.conn, f.header); err != nil {
		return 0, fmt.Errorf("read a fetch answer: %w", err)
	}
	_, bytes, err := f.answer.parse(f.header, correlation)
	return bytes, err
}

// Follow implements Session: it waits at the end of its partitions, one
// connection for each, and notes when each batch arrived.
func (r *raw) Follow(ctx context.Context, worker int, s Sink) error {
	partitions := r.consumers[worker]
	if len(partitions) == 0 {
		return nil
	}
	// Partitions beyond the first would wait for each other on one connection.
	errs := make(chan error, len(partitions))
	lock := newLockedSink(s)
	for _, p := range partitions {
		go func() { errs <- r.followOne(ctx, p, lock) }()
	}
	var first error
	for range partitions {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (r *raw) followOne(ctx context.Context, partition int32, s Sink) error {
	f, done, err := r.fetching(ctx, partition)
	if err != nil {
		return err
	}
	defer done()
	c := &cursor{partition: partition, request: fetchRequest(r.options.Topic, 500, int32(r.options.Load.FetchMaxBytes))}
	for ctx.Err() == nil {
		if err = f.followStep(c, s); err != nil {
			break
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (f *fetching) followStep(c *cursor, s Sink) error {
	if err := f.ask(c); err != nil {
		return err
	}
	bytes, err := f.receive(c.correlation)
	if err != nil {
		return err
	}
	if err := f.discard.skip(bytes); err != nil {
		return fmt.Errorf("read fetched records: %w", err)
	}
	now := schedule.Now()
	if bytes == 0 {
		return nil
	}
	records, err := f.pool.walk(c.offset/f.pool.records, int64(bytes))
	if err != nil {
		return fmt.Errorf("partition %d at offset %d: %w", c.partition, c.offset, err)
	}
	for o := c.offset; o < c.offset+records; o += f.pool.records {
		s.Seen(c.partition, o, now)
	}
	s.Got(Got{Now: now, ServiceNs: now - c.sent, Records: records, Wire: int64(bytes)})
	c.offset += records
	return nil
}
