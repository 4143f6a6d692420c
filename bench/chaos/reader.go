package chaos

import (
	"context"
	"fmt"
	"hash/crc32"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// reader is a consumer that reads all cells while faults go on: what it was shown
// must never change.
type reader struct {
	client *kgo.Client
	cancel context.CancelFunc
	group  sync.WaitGroup
	seen   map[string]*seen // by topic; of the reading goroutine until it has ended
}

// seen is what was read of a topic: the checksum of each offset, 0 where nothing was.
type seen struct {
	sums  []uint32
	last  int64
	wrong []string
}

// maxWrong bounds what is spelled out.
const maxWrong = 5

func (s *seen) take(k *kgo.Record) {
	if k.Offset <= s.last && len(s.wrong) < maxWrong {
		s.wrong = append(s.wrong, fmt.Sprintf("a consumer read offset %d after %d", k.Offset, s.last))
	}
	s.last = k.Offset
	for int64(len(s.sums)) <= k.Offset {
		s.sums = append(s.sums, 0)
	}
	sum := sumOf(k)
	if before := s.sums[k.Offset]; before != 0 && before != sum && len(s.wrong) < maxWrong {
		s.wrong = append(s.wrong, fmt.Sprintf("a consumer read offset %d again, and something else", k.Offset))
	}
	s.sums[k.Offset] = sum
}

// takenBack counts the records that were shown and are not in the later read.
func (s *seen) takenBack(later *seen) (n int64, first int64) {
	first = -1
	for offset, sum := range s.sums {
		if sum != 0 && (offset >= len(later.sums) || later.sums[offset] != sum) {
			if n == 0 {
				first = int64(offset)
			}
			n++
		}
	}
	return n, first
}

// sumOf is never 0.
func sumOf(k *kgo.Record) uint32 { return crc32.ChecksumIEEE(k.Value) | 1 }

func (r *Rig) follow(cells []*producing) (*reader, error) {
	from := map[string]map[int32]kgo.Offset{}
	out := &reader{seen: map[string]*seen{}}
	for _, p := range cells {
		from[p.topic] = map[int32]kgo.Offset{0: kgo.NewOffset().AtStart()}
		out.seen[p.topic] = &seen{last: -1}
	}
	c, err := r.client(kgo.ConsumePartitions(from), kgo.FetchMaxWait(500*time.Millisecond), kgo.KeepControlRecords())
	if err != nil {
		return nil, err
	}
	out.client = c
	ctx, cancel := context.WithCancel(context.Background())
	out.cancel = cancel
	out.group.Go(func() {
		for ctx.Err() == nil {
			c.PollFetches(ctx).EachRecord(func(k *kgo.Record) { out.seen[k.Topic].take(k) })
		}
	})
	return out, nil
}

// stop ends the reading; it may be called again.
func (r *reader) stop() {
	r.cancel()
	r.group.Wait()
	r.client.Close()
}
