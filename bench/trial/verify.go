package trial

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/bench/check"
)

// readWithin bounds the time without a record while some are still to come.
const readWithin = time.Minute

// Verify reads every cell from its first to its last offset and checks what it
// read. Batches that the client finds damaged, and offsets that cannot be read, are
// errors.
func (r *Rig) Verify(ctx context.Context) ([]check.Report, error) {
	return r.verify(ctx, func(string, int64) bool { return true })
}

// VerifyWithout is Verify by a reader that was not served the record at an offset
// of a cell. It is there to prove that a check would notice.
func (r *Rig) VerifyWithout(ctx context.Context, cell int, offset int64) ([]check.Report, error) {
	topic := r.topic(cell)
	return r.verify(ctx, func(t string, o int64) bool { return t != topic || o != offset })
}

func (r *Rig) verify(ctx context.Context, served func(topic string, offset int64) bool) ([]check.Report, error) {
	c, err := r.client()
	if err != nil {
		return nil, err
	}
	ends, err := kadm.NewClient(c).ListEndOffsets(ctx, r.topics()...)
	c.Close()
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("end offsets: %w", err)
	}
	left := map[string]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left[o.Topic] = o.Offset
		}
	})
	checkers := map[string]*check.Checker{}
	for i := range r.options.Cells {
		checkers[r.topic(i)] = check.New(r.ledger, uint16(i), 0)
	}
	take := func(k *kgo.Record) {
		if served(k.Topic, k.Offset) {
			checkers[k.Topic].Read(k.Offset, k.Value)
		}
	}
	if err := r.read(ctx, left, take); err != nil {
		return nil, err
	}
	reports := make([]check.Report, len(r.options.Cells))
	for i := range reports {
		reports[i] = checkers[r.topic(i)].Report()
	}
	return reports, nil
}

func (r *Rig) topics() []string {
	out := make([]string, len(r.options.Cells))
	for i := range out {
		out[i] = r.topic(i)
	}
	return out
}

// read hands over every record below the ends.
func (r *Rig) read(ctx context.Context, ends map[string]int64, take func(*kgo.Record)) error {
	if len(ends) == 0 {
		return nil
	}
	from := map[string]map[int32]kgo.Offset{}
	for topic := range ends {
		from[topic] = map[int32]kgo.Offset{0: kgo.NewOffset().At(0)}
	}
	c, err := r.client(kgo.ConsumePartitions(from), kgo.FetchMaxWait(100*time.Millisecond))
	if err != nil {
		return err
	}
	defer c.Close()
	for len(ends) > 0 {
		polled, cancel := context.WithTimeout(ctx, readWithin)
		fetches := c.PollFetches(polled)
		late := polled.Err()
		cancel()
		if late != nil {
			return fmt.Errorf("read back: nothing came for %s, and these are not at their end: %v", readWithin, ends)
		}
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("read back: %w", err)
		}
		fetches.EachRecord(func(k *kgo.Record) {
			take(k)
			if k.Offset+1 >= ends[k.Topic] {
				delete(ends, k.Topic)
			}
		})
	}
	return nil
}
