package driver

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// transactions are those of one producing client, one after the other; none with
// length 0.
type transactions struct {
	client *kgo.Client
	length time.Duration
	began  time.Time
	// wrote are the partitions of the present one: each gets a marker. markers counts
	// those.
	wrote   []bool
	markers *atomic.Int64
}

func (t *transactions) begin() error {
	if t.length == 0 {
		return nil
	}
	t.began = time.Now()
	if err := t.client.BeginTransaction(); err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	return nil
}

// over says whether the present one has lasted its time.
func (t *transactions) over(now time.Time) bool { return t.length > 0 && now.Sub(t.began) >= t.length }

// commit waits for everything that was produced, and commits it.
func (t *transactions) commit(ctx context.Context) error {
	if t.length == 0 {
		return nil
	}
	if err := t.client.Flush(ctx); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	if err := t.client.EndTransaction(ctx, kgo.TryCommit); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	for p, wrote := range t.wrote {
		if wrote {
			t.markers.Add(1)
			t.wrote[p] = false
		}
	}
	return nil
}

// settled waits until every transaction has its markers, which come after the answer
// to its commit.
func (a *admin) settled(ctx context.Context) error {
	for {
		stable, err := a.kadm.ListCommittedOffsets(ctx, a.topic)
		committed, err := a.listed("last stable", stable, err)
		if err != nil {
			return err
		}
		ends, err := a.ends(ctx)
		if err != nil || slices.Equal(committed, ends) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("a transaction stays open: last stable offsets %v, ends %v", committed, ends)
		case <-time.After(settlePause):
		}
	}
}

// settlePause is how often settled looks.
const settlePause = 10 * time.Millisecond
