package replication_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"tidemark/commitlog/epoch"
	"tidemark/replication"
)

// shell carries out what a machine wants of its log, and nothing else; what it is
// told is drawn at random, sense or not.
type shell struct {
	t                  *rapid.T
	m                  replication.Machine
	now                time.Duration
	start, end, synced int64
	epochs             epoch.Cache
	hw, promised       int64
	led                int // 1 while the replica leads
}

func (s *shell) tell(ev replication.Event) {
	ev.Now = s.now
	effects := s.m.Step(ev, nil)
	if ev.Kind == replication.Restarted {
		s.led = 0
	}
	for _, e := range effects {
		s.carryOut(e)
	}
	st := s.m.Status()
	if st.Role == replication.Leader {
		s.led = 1
	}
	switch {
	case st.LogEndOffset != s.end || st.LogStartOffset != s.start || st.Synced > s.end:
		s.t.Fatalf("the log is %d..%d, the machine has %d..%d synced to %d", s.start, s.end, st.LogStartOffset, st.LogEndOffset, st.Synced)
	case st.HighWatermark < s.start || st.HighWatermark > s.end:
		s.t.Fatalf("high watermark %d of a log %d..%d", st.HighWatermark, s.start, s.end)
	case st.HighWatermark < s.hw:
		s.t.Fatalf("high watermark %d after %d, and nothing was truncated", st.HighWatermark, s.hw)
	case st.AckedAll > s.end || st.Role == replication.Leader && st.LeaderEpoch < st.FencedEpoch:
		s.t.Fatalf("%+v", st)
	}
	s.hw = st.HighWatermark
}

func (s *shell) carryOut(e replication.Effect) {
	st := s.m.Status()
	switch e.Kind {
	case replication.Truncate, replication.Restart:
		if e.Offset > s.end && e.Kind == replication.Truncate {
			s.t.Fatalf("truncation of a log that ends at %d: %+v", s.end, e)
		}
		if s.end = e.Offset; s.end < s.start || e.Kind == replication.Restart {
			s.start = s.end
		}
		s.synced, s.hw = min(s.synced, s.end), s.start
		s.epochs.TruncateEnd(s.end)
		s.tell(replication.Event{Kind: replication.Truncated, Offset: s.end, LogStart: s.start})
	case replication.Accept:
		s.append(st.LeaderEpoch)
	case replication.MoveLogStart:
		s.start = e.Offset
		s.hw = max(s.hw, s.start)
		s.tell(replication.Event{Kind: replication.LogStartMoved, Offset: e.Offset})
	case replication.AnswerFence:
		if e.Failure == replication.NoFailure && (int64(e.LeaderEpoch) != s.promised || e.Offset != s.end) {
			s.t.Fatalf("promised to epoch %d with log end %d, and answers %+v", s.promised, s.end, e)
		}
	case replication.StepDown:
		if s.led--; s.led < 0 {
			s.t.Fatal("steps down, and did not lead")
		}
	case replication.WriteFence:
		if int64(e.LeaderEpoch) <= s.promised {
			s.t.Fatalf("promises %d after %d", e.LeaderEpoch, s.promised)
		}
		s.promised = int64(e.LeaderEpoch)
	case replication.Fetch:
		if st.Role != replication.Follower || int64(e.LeaderEpoch) < s.promised || e.Offset != s.end {
			s.t.Fatalf("%s with log end %d, promised to epoch %d: %+v", st.Role, s.end, s.promised, e)
		}
	case replication.AckAll, replication.AckLeader, replication.ProposeISR:
		if st.Role != replication.Leader {
			s.t.Fatalf("%s: %+v", st.Role, e)
		}
	}
}

func (s *shell) append(recordEpoch int32) {
	s.epochs.Assign(recordEpoch, s.end)
	s.end++
	s.tell(replication.Event{Kind: replication.Appended, Offset: s.end, RecordEpoch: recordEpoch})
}

// any draws an event with small numbers in every field it may use.
func (s *shell) any() replication.Event {
	small := rapid.Int32Range(-1, 6)
	offset := rapid.Int64Range(0, 12)
	sets := rapid.SliceOfDistinct(rapid.Int32Range(1, 3), func(b int32) int32 { return b })
	return replication.Event{
		Kind:   replication.EventKind(rapid.IntRange(int(replication.Tick), int(replication.Fence)).Draw(s.t, "kind")),
		Broker: rapid.Int32Range(-1, 4).Draw(s.t, "broker"), BrokerEpoch: int64(rapid.Int32Range(100, 104).Draw(s.t, "broker epoch")),
		Dir:             dir(rapid.Int32Range(1, 3).Draw(s.t, "dir")),
		ControllerEpoch: rapid.Int32Range(1, 2).Draw(s.t, "controller epoch"), LeaderEpoch: small.Draw(s.t, "leader epoch"),
		PartitionEpoch: small.Draw(s.t, "partition epoch"), RecordEpoch: small.Draw(s.t, "record epoch"),
		DivergingEpoch: small.Draw(s.t, "diverging epoch"), DivergingEnd: offset.Draw(s.t, "diverging end"),
		Offset: offset.Draw(s.t, "offset"), HighWatermark: offset.Draw(s.t, "hw"), LogStart: offset.Draw(s.t, "log start"), LogEnd: offset.Draw(s.t, "log end"),
		Records: rapid.Bool().Draw(s.t, "records"),
		Failure: replication.Failure(rapid.IntRange(0, int(replication.OffsetOutOfRange)).Draw(s.t, "failure")),
		Refusal: replication.Refusal(rapid.IntRange(1, int(replication.UnknownOutcome)).Draw(s.t, "refusal")),
		ISR:     set(sets.Draw(s.t, "isr")...), Replicas: set(1, 2, 3),
		Config: replication.Config{MinISR: 1 + rapid.IntRange(0, 2).Draw(s.t, "min"), SyncedAcks: rapid.Bool().Draw(s.t, "synced acks"), LagTimeMax: time.Second},
	}
}

// makeSense makes the event one that the machine listens to in its present state.
func (s *shell) makeSense(ev *replication.Event) {
	st := s.m.Status()
	switch ev.Kind {
	case replication.FetchResponse:
		ev.LeaderEpoch, ev.Offset = st.LeaderEpoch, s.end
		if ev.Records {
			ev.Failure, ev.DivergingEpoch = replication.NoFailure, replication.NoEpoch
		}
	case replication.FollowerFetched, replication.ISRRefused:
		ev.LeaderEpoch = st.LeaderEpoch
	case replication.BecomeLeader, replication.BecomeFollower, replication.ISRCommitted:
		ev.LeaderEpoch, ev.PartitionEpoch = max(st.LeaderEpoch, st.FencedEpoch), st.PartitionEpoch+1
		if ev.Kind != replication.ISRCommitted && s.end%2 == 0 {
			ev.LeaderEpoch++
		}
	case replication.Stopped, replication.Restarted:
		ev.Kind = replication.Appended // Both end a life too soon to be said often.
	}
}

// TestArbitraryEvents: whatever a controller, a leader or a follower says, in any
// order, the machine keeps its own log and promises in order.
func TestArbitraryEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		strategy := rapid.SampledFrom(strategies).Draw(t, "strategy")
		s := &shell{t: t, m: newReplica(discard{}, strategy, replication.Config{Self: 1, MinISR: 2}).Machine, promised: -1}
		for range 60 {
			s.now += time.Duration(rapid.IntRange(0, 1000).Draw(t, "ms")) * time.Millisecond
			ev := s.any()
			if rapid.IntRange(0, 3).Draw(t, "sense") > 0 {
				s.makeSense(&ev)
			}
			switch ev.Kind {
			case replication.Appended:
				s.append(max(0, s.m.Status().LeaderEpoch))
				continue
			case replication.Truncated:
				continue // The machine asks for it, or it does not happen.
			case replication.Flushed:
				s.synced = s.end
				ev.Offset = s.end
			case replication.LogStartMoved:
				ev.Offset = min(max(ev.Offset, s.start), s.end)
				s.start = ev.Offset
			case replication.Restarted:
				ev.Offset, ev.LogStart, ev.Synced, ev.Epochs, ev.FencedEpoch = s.end, s.start, s.synced, s.epochs.Entries(), int32(s.promised)
				ev.HighWatermark = s.hw
			}
			s.tell(ev)
		}
	})
}

// discard is a testing.TB for helpers that cannot fail here.
type discard struct{ testing.TB }

func (discard) Helper() {}
