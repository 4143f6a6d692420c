package scene

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/replication"
)

// record is one entry of a log: a batch with one record.
type record struct {
	name  string
	epoch int32
}

// control is the name of a quorum leader's control batch.
const control = "control"

// disk is what a restart finds.
type disk struct {
	log    []record
	synced int64
	fenced int32
	// fenceSynced is what of fenced a power cut leaves.
	fenceSynced int32
	// checkpoint is the high watermark's, written at every move.
	checkpoint int64
}

// broker is one broker with its replica.
type broker struct {
	id      int32
	dir     replication.DirID
	machine replication.Machine
	disk    disk

	up, paused, session, slowDisk bool
	epoch, survived               int64 // broker epoch; the life before it, if its memory is intact

	next    *replication.Effect // the Fetch that stands
	answer  *answer             // on its way back
	waiting []waiter
	later   []func() // what the effects of a step lead to, once all are carried out
}

// answer is a fetch answer with its records and what it answers.
type answer struct {
	replication.Effect
	asked   replication.Effect
	records []record
}

// waiter is a producer that waits for its acknowledgement.
type waiter struct {
	name string
	end  int64
	all  bool // acks=all, else acks=1
}

func (b *broker) reachable() bool { return b.up && !b.paused }

func (b *broker) leads() bool { return b.machine.Status().Role == replication.Leader }

// register gives the broker a new registration.
func (b *broker) register(s *Scene, survived bool) {
	b.survived = replication.NoBrokerEpoch
	if survived {
		b.survived = b.epoch
	}
	s.ctl.registrations++
	b.epoch, b.session = s.ctl.registrations, true
}

// boot opens the log.
func (b *broker) boot(s *Scene) {
	c := s.cfg
	c.Self, c.BrokerEpoch, c.Dir = b.id, b.epoch, b.dir
	b.machine, b.up, b.paused = s.spec.New(c), true, false
	b.next, b.answer, b.waiting = nil, nil, nil
	b.step(s, replication.Event{
		Kind: replication.Restarted, Offset: int64(len(b.disk.log)), Synced: b.disk.synced, HighWatermark: b.disk.checkpoint,
		FencedEpoch: max(b.disk.fenced, replication.NoEpoch), BrokerEpoch: b.epoch, Dir: b.dir, Epochs: epochsOf(b.disk.log),
	})
}

// die ends the process; what it does to the disk depends on how.
func (b *broker) die(s *Scene, how string) {
	b.up, b.next, b.answer = false, nil, nil
	switch how {
	case "power":
		if lost := b.disk.log[b.disk.synced:]; len(lost) > 0 {
			s.say("%d loses %s", b.id, names(lost))
		}
		b.disk.log, b.disk.fenced = b.disk.log[:b.disk.synced:b.disk.synced], b.disk.fenceSynced
		b.disk.checkpoint = min(b.disk.checkpoint, b.disk.synced)
	case "wipe":
		s.say("%d loses its disk", b.id)
		b.disk = disk{}
		b.dir[0]++
	}
}

// restart starts the process again; unnoticed, it keeps its registration.
func (b *broker) restart(s *Scene, args []string) error {
	if b.up {
		return fmt.Errorf("broker %d is up", b.id)
	}
	if !slices.Contains(args, "unnoticed") {
		b.register(s, false)
	}
	b.boot(s)
	return nil
}

func (b *broker) produce(s *Scene, records []string, all bool) error {
	switch st := b.machine.Status(); {
	case st.Role != replication.Leader:
		return fmt.Errorf("NOT_LEADER_OR_FOLLOWER")
	case all && !st.Admits:
		return fmt.Errorf("NOT_ENOUGH_REPLICAS")
	default:
		for _, name := range records {
			b.waiting = append(b.waiting, waiter{name, int64(len(b.disk.log)) + 1, all})
			b.append(s, st.LeaderEpoch, record{name, st.LeaderEpoch})
		}
	}
	return nil
}

// append writes records of one leader epoch and tells the machine.
func (b *broker) append(s *Scene, epoch int32, records ...record) {
	b.disk.log = append(b.disk.log, records...)
	b.step(s, replication.Event{Kind: replication.Appended, Offset: int64(len(b.disk.log)), RecordEpoch: epoch})
}

// appendFetched writes records as they came, a run of one leader epoch at a
// time.
func (b *broker) appendFetched(s *Scene, records []record) {
	s.say("%d appends %s", b.id, names(records))
	for len(records) > 0 {
		n := 1
		for n < len(records) && records[n].epoch == records[0].epoch {
			n++
		}
		b.append(s, records[0].epoch, records[:n]...)
		records = records[n:]
	}
}

func (b *broker) flush(s *Scene) {
	b.disk.synced = int64(len(b.disk.log))
	b.step(s, replication.Event{Kind: replication.Flushed, Offset: b.disk.synced})
}

// ask sends the fetch that stands to whom it is for; the answer waits.
func (b *broker) ask(s *Scene) error {
	if !b.reachable() || b.next == nil {
		return fmt.Errorf("broker %d has nothing to fetch", b.id)
	}
	leader, err := s.broker(fmt.Sprint(b.next.Broker))
	if err != nil {
		return err
	}
	if !leader.reachable() {
		return fmt.Errorf("broker %d does not answer", leader.id)
	}
	asked := *b.next
	b.answer = nil
	leader.step(s, replication.Event{
		Kind: replication.FollowerFetched, Broker: b.id, BrokerEpoch: b.epoch, Dir: b.dir,
		LeaderEpoch: asked.LeaderEpoch, Offset: asked.Offset, RecordEpoch: asked.RecordEpoch,
	})
	if b.answer != nil {
		b.answer.asked = asked
	}
	return nil
}

// deliver applies the answer that is on its way, with its first limit records.
func (b *broker) deliver(s *Scene, limit int) error {
	a := b.answer
	if a == nil || !b.reachable() {
		return fmt.Errorf("no answer reaches broker %d", b.id)
	}
	b.answer, a.records = nil, a.records[:min(limit, len(a.records))]
	b.step(s, replication.Event{
		Kind: replication.FetchResponse, Broker: a.asked.Broker, LeaderEpoch: a.asked.LeaderEpoch, Offset: a.asked.Offset,
		Failure: a.Failure, HighWatermark: a.HighWatermark, LogStart: a.LogStart, LogEnd: a.LogEnd,
		DivergingEpoch: a.DivergingEpoch, DivergingEnd: a.DivergingEnd, Records: len(a.records) > 0,
	}, a.records...)
	return nil
}

// step tells the machine and carries out what it wants; fetched are the records
// that came with a FetchResponse.
func (b *broker) step(s *Scene, ev replication.Event, fetched ...record) {
	ev.Now = s.now
	for _, e := range b.machine.Step(ev, nil) {
		b.carryOut(s, e, fetched)
	}
	for len(b.later) > 0 {
		do := b.later[0]
		b.later = b.later[1:]
		do()
	}
}

func (b *broker) carryOut(s *Scene, e replication.Effect, fetched []record) {
	switch e.Kind {
	case replication.Fetch:
		b.next = &e
	case replication.DropFetch:
		b.next, b.answer = nil, nil
	case replication.Accept:
		b.appendFetched(s, fetched)
	case replication.Truncate, replication.Restart:
		b.truncate(s, e)
	case replication.SetHighWatermark:
		s.say("%d high watermark %d → %d", b.id, e.From, e.Offset)
		b.disk.checkpoint = e.Offset
		s.promise(names(b.disk.log[:e.Offset]))
	case replication.AckLeader, replication.AckAll:
		b.ack(s, e.Offset, e.Kind == replication.AckAll)
	case replication.FailWaiters:
		b.fail(s, e)
	case replication.ProposeISR:
		s.say("%d proposes ISR %s: %s", b.id, members(e.Members), e.Why)
		s.ctl.proposal = &e
	case replication.AppendControl:
		s.say("%d appends its control batch", b.id)
		b.later = append(b.later, func() { b.append(s, e.LeaderEpoch, record{control, e.LeaderEpoch}) })
	case replication.Sync:
		if !b.slowDisk {
			b.later = append(b.later, func() { b.flush(s) })
		}
	case replication.AnswerFetch:
		s.answerFetch(b, e)
	case replication.WriteFence:
		b.disk.fenced = e.LeaderEpoch
		if e.Synced {
			b.disk.fenceSynced = e.LeaderEpoch
		}
	case replication.AnswerFence:
		s.ctl.fenceAnswered(s, b, e)
	case replication.StepDown:
		s.say("%d steps down", b.id)
	}
}

func (b *broker) truncate(s *Scene, e replication.Effect) {
	if cut := b.disk.log[min(e.Offset, int64(len(b.disk.log))):]; len(cut) > 0 {
		s.say("%d truncates %d → %d, %s: drops %s", b.id, len(b.disk.log), e.Offset, e.Why, names(cut))
	} else {
		s.say("%d has nothing to truncate at %d: %s", b.id, e.Offset, e.Why)
	}
	b.disk.log = slices.Clone(b.disk.log[:e.Offset])
	b.disk.synced = min(b.disk.synced, e.Offset)
	b.disk.checkpoint = min(b.disk.checkpoint, e.Offset)
	b.step(s, replication.Event{Kind: replication.Truncated, Offset: e.Offset})
}

// answerFetch puts the answer, with what records there are, on its way.
func (s *Scene) answerFetch(leader *broker, e replication.Effect) {
	for _, b := range s.brokers {
		if b.id != e.Broker {
			continue
		}
		a := &answer{Effect: e}
		switch {
		case e.Failure != replication.NoFailure:
			s.say("%d is refused by %d: %s", b.id, leader.id, failures[e.Failure])
		case e.DivergingEpoch != replication.NoEpoch:
			s.say("%d is told by %d: epoch %d ends at %d", b.id, leader.id, e.DivergingEpoch, e.DivergingEnd)
		default:
			a.records = slices.Clone(leader.disk.log[e.Offset:])
		}
		b.answer = a
	}
}

// latest is ListOffsets: a leader that may not know the true high watermark yet
// says so, lest offsets seem to go back (KIP-207).
func (b *broker) latest(s *Scene) error {
	switch st := b.machine.Status(); {
	case st.Role != replication.Leader:
		return fmt.Errorf("NOT_LEADER_OR_FOLLOWER")
	case st.HighWatermark < st.EpochStart:
		return fmt.Errorf("OFFSET_NOT_AVAILABLE: %d is below %d, where epoch %d began", st.HighWatermark, st.EpochStart, st.LeaderEpoch)
	default:
		s.say("latest offset %d", st.HighWatermark)
	}
	return nil
}

func (b *broker) ack(s *Scene, to int64, all bool) {
	var done []string
	b.waiting = slices.DeleteFunc(b.waiting, func(w waiter) bool {
		answered := w.all == all && w.end <= to
		if answered {
			done = append(done, w.name)
		}
		return answered
	})
	for _, name := range done {
		s.say("%d acknowledges %s", b.id, name)
	}
	s.promise(strings.Join(done, " "))
}

func (b *broker) fail(s *Scene, e replication.Effect) {
	b.waiting = slices.DeleteFunc(b.waiting, func(w waiter) bool {
		told := w.end <= e.Offset && (w.all || e.Failure == replication.NotLeader)
		if told {
			s.say("%d answers for %s: %s", b.id, w.name, failures[e.Failure])
		}
		return told
	})
}
