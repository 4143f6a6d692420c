package driver

import (
	"context"

	"tidemark/bench/schedule"
)

// null acknowledges every send on the spot: what remains is the harness.
type null struct{ unit Unit }

func newNull(o Options) (Session, error) {
	l := o.Load
	records := int64(l.BatchRecords)
	if records == 0 {
		records = max(1, int64(l.BatchBytes/(l.RecordBytes+recordOverhead)))
	}
	return null{Unit{Records: records, Wire: records * int64(l.RecordBytes+recordOverhead), LatencyOf: "batch"}}, nil
}

// recordOverhead is about what a record without key and headers takes besides
// its value.
const recordOverhead = 8

func (n null) Unit() Unit { return n.unit }

func (n null) Produce(_ context.Context, worker int, f Feed) (int64, error) {
	send := Send{Records: n.unit.Records, Wire: n.unit.Wire}
	for offset := int64(0); ; offset += send.Records {
		due, ok := f.Next()
		if !ok {
			return 0, nil
		}
		now := schedule.Now()
		f.Sent(due, now, send)
		f.Acked(Ack{Due: due, Sent: now, Now: schedule.Now(), Records: send.Records, Wire: send.Wire, Partition: int32(worker), Offset: offset})
	}
}

func (n null) Fetch(ctx context.Context, _ int, s Sink) error {
	for ctx.Err() == nil {
		now := schedule.Now()
		s.Got(Got{Now: now, Records: n.unit.Records, Wire: n.unit.Wire})
	}
	return nil
}

// Follow has nothing to follow.
func (n null) Follow(ctx context.Context, _ int, _ Sink) error {
	<-ctx.Done()
	return nil
}

func (n null) Count(context.Context) (int64, error) { return -1, nil }

func (n null) Close() error { return nil }
