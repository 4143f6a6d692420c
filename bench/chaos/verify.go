package chaos

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/bench/check"
	"tidemark/bench/ledger"
)

// Verdict is what became of a cell.
type Verdict struct {
	Cell
	check.Report
	Sent, Acked int64
	// Blind says that the check did not miss a record that it was not given.
	Blind bool
	// Log is what the files of all replicas hold.
	Log Log
	// TakenBack are records that a consumer was shown and that are gone or others.
	TakenBack, FirstTaken int64
	// Silence is the longest time between two acknowledgements.
	Silence time.Duration
	// Errors are what records failed with, and how often.
	Errors map[string]int
	// Shown are what consumers were shown or could have been, and must not be where
	// nothing may be lost: offsets and high watermarks that went back.
	Shown []string
	// Wrong are those that brokers told of themselves.
	Wrong []string
}

// AckedFrom counts the records that were acknowledged at an offset or a later one.
func AckedFrom(v ledger.View, offset int64) (n int64) {
	for _, a := range v.Acks {
		n += max(0, a.Offset+int64(a.Count)-max(offset, a.Offset))
	}
	return n
}

// Broken says what of the cell's promise was not kept. loses is for a cell that may
// lose what it acknowledged, and does not promise what follows from that.
func (v Verdict) Broken(loses bool) error {
	var errs []error
	say := func(format string, args ...any) { errs = append(errs, fmt.Errorf(v.Name+": "+format, args...)) }
	if v.Blind {
		say("the check did not miss a record that it was not given")
	}
	if v.Corrupt+v.Phantom > 0 || !loses && v.Lost+v.Inconsistent > 0 || v.idempotent() && !loses && v.Duplicate+v.Reordered > 0 {
		say("%v", v.Report)
	}
	if !loses && v.TakenBack > 0 {
		say("%d records that a consumer was shown are gone or others, the first at offset %d", v.TakenBack, v.FirstTaken)
	}
	for _, s := range v.Shown {
		if !loses {
			say("%s", s)
		}
	}
	if v.idempotent() && !loses && len(v.Errors) > 0 {
		say("records failed: %v", v.Errors)
	}
	for _, w := range v.Wrong {
		say("%s", w)
	}
	return errors.Join(errs...)
}

// String is the verdict in a line.
func (v Verdict) String() string {
	return fmt.Sprintf("%s acks=%s: %d sent, %d acknowledged, longest silence %s, %d batches equal on all replicas; %v",
		v.Name, v.Acks, v.Sent, v.Acked, v.Silence.Round(time.Millisecond), v.Log.Batches, v.Report)
}

// Verify reads every cell, checks it against the ledger, and compares the files of all
// replicas. The trial must have settled.
func (t *Trial) Verify(ctx context.Context) ([]Verdict, error) {
	if err := t.drain(ctx); err != nil {
		return nil, err
	}
	t.reader.stop()
	verdicts := make([]Verdict, len(t.cells))
	for i, p := range t.cells {
		v, err := t.verify(ctx, p)
		if err != nil {
			return nil, err
		}
		verdicts[i] = v
	}
	for i := range verdicts {
		wrong, backward := t.watch.faults(t.cells[i].topic)
		verdicts[i].Wrong = wrong
		verdicts[i].Shown = append(verdicts[i].Shown, backward...)
	}
	return verdicts, nil
}

func (t *Trial) verify(ctx context.Context, p *producing) (Verdict, error) {
	view := p.account.View()
	v := Verdict{Cell: p.Cell, Sent: p.sent.Load(), Acked: int64(view.AckedCount()), Silence: time.Duration(p.silence.Load()), Errors: p.said()}
	log, err := t.compare(p.topic)
	if err != nil {
		return v, err
	}
	v.Log = log
	all, planted := check.New(t.ledger, p.number, 0), check.New(t.ledger, p.number, 0)
	drop, dropped := someAck(view), false
	again := &seen{last: -1}
	err = t.rig.read(ctx, p.topic, log.End, func(k *kgo.Record) {
		again.take(k)
		if k.Attrs.IsControl() {
			return
		}
		all.Read(k.Offset, k.Value)
		if k.Offset == drop {
			dropped = true
			return
		}
		planted.Read(k.Offset, k.Value)
	})
	if err != nil {
		return v, fmt.Errorf("%s: %w", p.topic, err)
	}
	v.Report = all.Report()
	less := planted.Report()
	// A second copy of what was left out counts, and a lost one is not found there.
	v.Blind = v.Acked > 0 && v.Lost+v.Duplicate == 0 && (!dropped || less.Lost != 1)
	first := t.reader.seen[p.topic]
	v.Shown = first.wrong
	v.TakenBack, v.FirstTaken = first.takenBack(again)
	return v, nil
}

// someAck is the offset of an acknowledged record in the midst of them.
func someAck(v ledger.View) int64 {
	if len(v.Acks) == 0 {
		return -1
	}
	a := v.Acks[len(v.Acks)/2]
	return a.Offset + int64(a.Count/2)
}

// compare holds the files of all replicas of a topic against each other.
func (t *Trial) compare(topic string) (Log, error) {
	var dirs []string
	for _, id := range t.rig.brokers {
		dirs = append(dirs, filepath.Join(t.rig.DataDir(id), topic+"-0"))
	}
	return CompareLogs(dirs...)
}

// readWithin bounds the time without a record while some are still to come.
const readWithin = time.Minute

// read hands over everything below end, control batches too.
func (r *Rig) read(ctx context.Context, topic string, end int64, take func(*kgo.Record)) error {
	c, err := r.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(0)}}), kgo.KeepControlRecords(),
		kgo.FetchMaxWait(100*time.Millisecond))
	if err != nil {
		return err
	}
	defer c.Close()
	ends, err := kadm.NewClient(c).ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("end offset: %w", err)
	}
	if o, _ := ends.Lookup(topic, 0); o.Offset != end {
		return fmt.Errorf("the broker tells that the log ends at %d, the files do at %d", o.Offset, end)
	}
	for next := int64(0); next < end; {
		polled, cancel := context.WithTimeout(ctx, readWithin)
		fetches := c.PollFetches(polled)
		late := polled.Err()
		cancel()
		if late != nil {
			return fmt.Errorf("read back: nothing came for %s at offset %d of %d", readWithin, next, end)
		}
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("read back: %w", err)
		}
		fetches.EachRecord(func(k *kgo.Record) {
			take(k)
			next = k.Offset + 1
		})
	}
	return nil
}
