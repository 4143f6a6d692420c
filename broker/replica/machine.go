package replica

import (
	"time"

	"tidemark/commitlog"
	"tidemark/protocol/record"
	"tidemark/replication"
)

// driven is the part of a partition that its replication.Machine drives: what
// happens is told by step, what the machine wants is done by do, in order. All of it
// is guarded by Partition.stepping.
//
// Whatever touches the log because the machine asked for it happens under stepping
// too, so that nothing else is told in between. Readers and the waiting need it not.
type driven struct {
	machine replication.Machine
	// effects and answer are buffers: what is being done, and the last AnswerFetch.
	effects []replication.Effect
	answer  replication.Effect
	growth  replication.Event // an Appended: there are many
	// changed: somebody who waits should look again.
	changed bool
	// controllerEpoch is the highest that was obeyed.
	controllerEpoch int32
	// copies says that others hold the partition too.
	copies bool
	// controlDue is the leader epoch whose control batch could not be appended yet;
	// NoEpoch without one.
	controlDue int32

	following following
	traced    *traced // nil while tracing is off
	proposals uint64  // numbers them; an outcome of another than the last is old
	fencing   fencing
}

// now is the time that machines are told.
func (m *Manager) now() time.Duration { return m.o.Clock.Now().Sub(m.origin) }

// strategy finds a replication strategy by its name.
func (m *Manager) strategy(name string) (replication.Spec, error) {
	if name == "" {
		name = defaultStrategy
	}
	return m.o.Strategies.Find(name)
}

func (m *Manager) brokerEpoch() int64 {
	if m.o.BrokerEpoch == nil {
		return replication.NoBrokerEpoch
	}
	return m.o.BrokerEpoch()
}

// leased reports whether this broker may still lead.
func (m *Manager) leased() bool { return m.o.Lease == nil || m.o.Lease() }

// outdated reports whether another may lead where this broker leads as far as it knows:
// its session may have ended, or it was told so in an earlier one.
func (p *Partition) outdated() bool {
	l := p.lead.Load()
	return l.leader == p.self && (l.brokerEpoch != p.manager.brokerEpoch() || !p.manager.leased())
}

// machineConfig is what the machine is configured with.
func (p *Partition) machineConfig() replication.Config {
	c, o := p.Topic.Config(), &p.manager.o
	return replication.Config{
		Self: p.self, BrokerEpoch: p.manager.brokerEpoch(), Dir: p.dir.id, MinISR: int(c.MinInsyncReplicas), LagTimeMax: o.LagTimeMax,
		SyncedAcks: c.SyncedAcks(), Truncation: o.Truncation, ELR: o.ELR, UncleanElection: c.UncleanElection,
	}
}

// start makes the machine and tells it what is on disk.
func (p *Partition) start(spec replication.Spec, checkpointed int64, fenced int32) {
	p.stepping.Lock()
	defer p.stepping.Unlock()
	c := p.machineConfig()
	p.machine = spec.New(c)
	start, end := p.log.LogStartOffset(), p.log.LogEndOffset()
	p.hw.Store(max(start, min(checkpointed, end)))
	p.end.Store(end)
	p.trust.begin(end)
	p.fencing.written, p.controlDue = fenced, replication.NoEpoch
	p.flush.count(p.log.RecoveryPoint())
	p.step(&replication.Event{
		Kind: replication.Restarted, Now: p.manager.now(), Offset: end, Synced: min(p.log.RecoveryPoint(), end), LogStart: start,
		HighWatermark: checkpointed, Epochs: p.log.Epochs(), FencedEpoch: fenced, BrokerEpoch: c.BrokerEpoch, Dir: c.Dir,
	})
}

// step tells the machine and does what it wants. stepping is held.
func (p *Partition) step(ev *replication.Event) {
	from := len(p.effects)
	p.effects = p.machine.Step(*ev, p.effects)
	for i := from; i < len(p.effects); i++ {
		p.do(&p.effects[i])
	}
	p.effects = p.effects[:from]
	if from == 0 && p.traced != nil {
		p.traced.settle()
	}
}

// unlock gives stepping up and reports whether Changed is to be woken, once the
// caller holds no lock at all.
func (p *Partition) unlock() (changed bool) {
	changed, p.changed = p.changed, false
	p.stepping.Unlock()
	return changed
}

// do carries out one effect; those that touch the log tell the machine at once.
func (p *Partition) do(e *replication.Effect) {
	switch e.Kind {
	case replication.SetHighWatermark:
		p.hw.Store(e.Offset)
		p.changed = true
		if p.traced != nil {
			p.traced.highWatermark(e)
		}
	case replication.AckLeader:
		p.ackedLeader.Store(e.Offset)
		p.changed = true
	case replication.AckAll:
		p.ackedAll.Store(e.Offset)
		p.changed = true
	case replication.FailWaiters:
		if e.Failure == replication.NotEnoughReplicasAfterAppend {
			p.tooFewBelow.Store(e.Offset)
		} // Whom a former leader leaves waiting sees that it leads no more.
		p.changed = true
	case replication.Sync:
		p.flushSoon(e.Offset)
	case replication.AnswerFetch:
		p.answer = *e
	case replication.ProposeISR:
		p.propose(e)
	case replication.StepDown:
		p.stepDown()
	case replication.AppendControl:
		p.appendControl(e)
	case replication.Fetch:
		p.beginFetch(e)
	case replication.DropFetch:
		p.dropFetch()
	case replication.Accept:
		p.accept()
	case replication.Truncate:
		p.cut(e, p.log.TruncateTo)
	case replication.Restart:
		p.cut(e, p.log.TruncateFullyAndStartAt)
	case replication.MoveLogStart:
		p.moveLogStart(e)
	case replication.WriteFence:
		p.fencing.due = e.LeaderEpoch
		_ = p.writeFence() // Asked again before the answer, which tells.
	case replication.AnswerFence:
		p.answerFence(e)
	}
}

// grown tells the machine that the log ends at end now, with batches of that leader
// epoch; stepping is held. What somebody told meanwhile that appended later is told.
func (p *Partition) grown(end int64, leaderEpoch int32) (told bool) {
	if end <= p.end.Load() {
		return false
	}
	if p.traced != nil {
		p.traced.append(p.end.Load(), end, leaderEpoch)
	}
	p.end.Store(end)
	p.growth.Kind, p.growth.Offset, p.growth.RecordEpoch = replication.Appended, end, leaderEpoch
	p.step(&p.growth)
	p.changed = p.changed || p.copies // Followers wait for what nobody else may see.
	return true
}

// stepDown publishes that nobody leads as far as this replica knows; stepping and,
// to write, mu are held.
func (p *Partition) stepDown() {
	l := *p.lead.Load()
	if l.leader == p.self {
		l.leader = replication.NoBroker
		p.lead.Store(&l)
	}
	p.admits.Store(false)
	p.changed = true
}

// refreshAdmits asks the machine whether acks=all may append.
func (p *Partition) refreshAdmits() {
	if m, ok := p.machine.(interface{ Admits() bool }); ok {
		p.admits.Store(m.Admits())
		return
	}
	p.admits.Store(p.machine.Status().Admits)
}

// appendControl begins the leader's epoch with a control batch.
func (p *Partition) appendControl(e *replication.Effect) {
	b := record.LeaderChangeMarker{TimestampMs: p.manager.o.Clock.Now().UnixMilli(), Leader: p.self}.Batch()
	info, err := p.log.AppendAsLeader(b, e.LeaderEpoch, commitlog.Coordinator)
	if err != nil {
		err = p.failed("append control batch to", err)
		p.manager.o.Logger.Error("leader cannot begin its epoch; nothing is committed until it can", "partition", p.ID().String(), "error", err)
		p.controlDue = e.LeaderEpoch
		return
	}
	p.controlDue = replication.NoEpoch
	p.grown(info.LastOffset+1, e.LeaderEpoch)
}

// tick tells a leader that time passed.
func (p *Partition) tick() {
	l := p.lead.Load()
	if l.leader != p.self || p.offline() {
		return
	}
	p.stepping.Lock()
	if p.traced != nil {
		p.traced.flush()
	}
	if p.controlDue == l.epoch && p.lead.Load() == l {
		p.appendControl(&replication.Effect{LeaderEpoch: l.epoch})
	}
	p.step(&replication.Event{Kind: replication.Tick, Now: p.manager.now()})
	if p.unlock() {
		p.Changed.Wake()
	}
}

// reconfigured tells the machine its present configuration.
func (p *Partition) reconfigured() {
	p.stepping.Lock()
	p.tellSynced()
	p.step(&replication.Event{Kind: replication.ConfigChanged, Now: p.manager.now(), Config: p.machineConfig()})
	p.refreshAdmits()
	if p.unlock() {
		p.Changed.Wake()
	}
}

// tellSynced tells how far the log is on stable storage; stepping is held. It is read
// here and not by who synced: a log that was cut meanwhile has less.
func (p *Partition) tellSynced() {
	synced := p.log.RecoveryPoint()
	if p.Topic.Config().Flush == FlushBatch {
		synced = min(synced, p.flush.synced.Load())
	}
	p.step(&replication.Event{Kind: replication.Flushed, Offset: synced})
}

// halt ends every role: the log goes, or its directory went. Nobody waits here any
// more once Changed is woken.
func (p *Partition) halt(change func(*leadership)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stepping.Lock()
	defer p.stepping.Unlock()
	p.step(&replication.Event{Kind: replication.Stopped, Now: p.manager.now()})
	p.leaveFetcher()
	p.forsakeFence()
	l := *p.lead.Load()
	change(&l)
	p.lead.Store(&l)
	p.changed = false
}

// moveLogStart follows the leader's log start.
func (p *Partition) moveLogStart(e *replication.Effect) {
	if err := p.log.AdvanceLogStart(min(e.Offset, p.log.LogEndOffset())); err != nil {
		_ = p.failed("advance log start of", err)
		return
	}
	p.logStartMoved()
}

// logStartMoved tells where the log starts; stepping is held.
func (p *Partition) logStartMoved() {
	p.step(&replication.Event{Kind: replication.LogStartMoved, Offset: p.log.LogStartOffset()})
}

// cut carries out Truncate or Restart. The log must not grow before the checkpoints
// that say more of it are lowered.
func (p *Partition) cut(e *replication.Effect, cut func(int64) error) {
	before := p.log.LogEndOffset()
	if err := cut(e.Offset); err != nil {
		p.following.failure = p.failed("truncate", err).Error()
		return
	}
	start, end := p.log.LogStartOffset(), p.log.LogEndOffset()
	p.hw.Store(max(start, min(p.hw.Load(), end)))
	p.end.Store(end)
	lower(p.acked.cell, uint64(end))
	p.following.lowered = p.dir.lower(p)
	if p.traced != nil {
		p.traced.truncated(before, end, e.Why)
	}
	p.manager.o.Logger.Info("log was truncated", "partition", p.ID().String(), "from", before, "to", end, "why", e.Why.String())
	p.step(&replication.Event{Kind: replication.Truncated, Offset: end, LogStart: start})
}
