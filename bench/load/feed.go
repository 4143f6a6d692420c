package load

import (
	"tidemark/bench/driver"
	"tidemark/bench/schedule"
)

// feed gives one producer its sends. The sending half and the acknowledging
// half have a tally each, because a driver may run them in two goroutines.
type feed struct {
	span     *span
	arrivals schedule.Arrivals // nil when saturating
	pacer    *schedule.Pacer   // made by the sending goroutine's first Next
	records  int64             // per send
	sending  *tally
	acking   *tally
	// coarse counts the sends since the clock was read; a saturating feed of
	// single records reads it once in many.
	coarse  int
	now     int64
	dropped int64
	// acks are kept for matching with what a following consumer saw.
	keepAcks bool
	acks     []seen
	pending  int64 // bytes not yet added to span.bytes
}

// seen is a batch and a time: when it was due, or when it arrived.
type seen struct {
	partition int32
	offset    int64
	at        int64
}

// Saturating implements driver.Feed.
func (f *feed) Saturating() bool { return f.arrivals == nil }

// Next implements driver.Feed.
func (f *feed) Next() (due int64, ok bool) {
	if f.arrivals == nil {
		return f.nextSaturating()
	}
	if f.pacer == nil {
		f.pacer = schedule.NewPacer()
	}
	if due, ok = f.Due(); !ok {
		f.pacer.Close()
		return 0, false
	}
	f.pacer.Wait(due)
	return due, true
}

// Due implements driver.Feed. A sender that is late at the window's end by less than its
// last part has requests on the way, as at any other instant: it sends what is left. One
// that is later fell behind.
func (f *feed) Due() (due int64, ok bool) {
	for end, last := f.span.end.Load(), f.span.lastPart(); ; {
		if due = f.span.begin + int64(f.arrivals.Next()); due >= end {
			return 0, false
		}
		f.sending.at(due).offered += f.records
		if due >= last || schedule.Now() < end {
			return due, true
		}
		f.dropped += f.records
	}
}

func (f *feed) nextSaturating() (due int64, ok bool) {
	if f.records > 1 || f.coarse == 0 {
		f.now = schedule.Now()
		if !f.span.advance(f.now) {
			return 0, false
		}
		f.coarse = 64
	}
	f.coarse--
	return f.now, true
}

// Sent implements driver.Feed.
func (f *feed) Sent(due, now int64, s driver.Send) {
	c := f.sending.at(now)
	c.accepted += s.Records
	if f.arrivals == nil {
		c.offered += s.Records
	} else {
		c = f.sending.at(due)
		record(&c.lateness, now-due, 1)
		record(&c.own, now-max(due, s.Held), 1)
	}
	if f.pending += s.Wire; f.pending >= 256<<10 || f.records > 1 {
		f.span.bytes.Add(f.pending)
		f.pending = 0
	}
}

// Acked implements driver.Feed. Counts belong to the interval in which the
// acknowledgement came; latencies of a paced load to the one in which the send
// was due, so that a stall at the end of the window is not cut off.
func (f *feed) Acked(a driver.Ack) {
	c := f.acking.at(a.Now)
	c.acked += a.Records
	c.requests++
	c.wire += a.Wire
	if f.arrivals != nil {
		c = f.acking.at(a.Due)
	}
	record(&c.response, a.Now-a.Due, 1)
	record(&c.service, a.Now-a.Sent, 1)
	if f.keepAcks {
		f.acks = append(f.acks, seen{a.Partition, a.Offset, a.Due})
	}
}

// Failed implements driver.Feed.
func (f *feed) Failed(due int64, records int64) { f.acking.at(schedule.Now()).failed += records }

// sink takes what one fetcher reads.
type sink struct {
	span    *span
	tally   *tally
	keep    bool
	arrived []seen
	follow  bool
}

// Got implements driver.Sink.
func (s *sink) Got(g driver.Got) {
	if !s.follow {
		s.span.advance(g.Now)
	}
	c := s.tally.at(g.Now)
	c.consumed += g.Records
	if s.follow {
		return
	}
	c.requests++
	c.wire += g.Wire
	record(&c.service, g.ServiceNs, 1)
}

// Seen implements driver.Sink.
func (s *sink) Seen(partition int32, offset, now int64) {
	if s.keep {
		s.arrived = append(s.arrived, seen{partition, offset, now})
	}
}

// Latency implements driver.Sink.
func (s *sink) Latency(ns int64) {
	record(&s.tally.at(schedule.Now()-ns).e2e, ns, 1)
}
