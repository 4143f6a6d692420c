package replica

import (
	"tidemark/commitlog"
	"tidemark/protocol/record"
)

// AckAll is the required acknowledgement of every in-sync replica.
const AckAll int16 = -1

// Append validates the batch and writes it at the end of the log, patching its
// offset and leader epoch in place; b is the caller's again on return. If moved
// is true the high watermark moved, and the caller must call Changed.Wake once
// it holds no lock.
func (p *Partition) Append(b record.Batch, acks int16, o commitlog.AppendOrigin) (info commitlog.AppendInfo, moved bool, err error) {
	return p.append(AnyEpoch, b, acks, o)
}

// append is Append for a caller that knows the given leader epoch.
func (p *Partition) append(callerEpoch int32, b record.Batch, acks int16, o commitlog.AppendOrigin) (info commitlog.AppendInfo, moved bool, err error) {
	return p.appendBy(callerEpoch, acks, func(leaderEpoch int32) (commitlog.AppendInfo, error) {
		return p.log.AppendAsLeader(b, leaderEpoch, o)
	})
}

// appendBy is append of what write writes with the current leader epoch.
func (p *Partition) appendBy(callerEpoch int32, acks int16, write func(leaderEpoch int32) (commitlog.AppendInfo, error)) (info commitlog.AppendInfo, moved bool, err error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if err := p.check(callerEpoch); err != nil {
		return commitlog.AppendInfo{}, false, err
	}
	if err := p.admitted(acks); err != nil {
		return commitlog.AppendInfo{}, false, err
	}
	l := p.lead.Load()
	info, err = write(l.epoch)
	if err != nil {
		return info, false, p.failed("append", err)
	}
	info.LeaderEpoch = l.epoch
	return info, p.appended(l, &info), nil
}

// admitted says why a leader may not append now; mu is held.
func (p *Partition) admitted(acks int16) error {
	switch {
	case p.leaving:
		return ErrNotLeader
	case acks == AckAll && !p.admits.Load():
		return ErrNotEnoughReplicas
	case !p.manager.leased():
		return ErrNotLeader
	}
	return nil
}

// appended does what follows every append and reports whether somebody who waits
// should look again; mu is held.
func (p *Partition) appended(l *leadership, info *commitlog.AppendInfo) (changed bool) {
	end := info.LastOffset + 1
	p.stepping.Lock()
	if !p.grown(end, l.epoch) && !info.Duplicate && p.Topic.Config().Flush == FlushBatch {
		p.flushSoon(end) // Told with a later batch, it has a sync of its own still.
	}
	return p.unlock()
}

// Acknowledged reports whether a producer may be told that its batch is written: with
// AckAll once every replica that counts has it, else once this one counts it. An
// error says that it never may. info is what Append returned.
func (p *Partition) Acknowledged(info *commitlog.AppendInfo, acks int16) (bool, error) {
	for {
		l := p.lead.Load()
		if err := p.check(AnyEpoch); err != nil {
			return false, err
		}
		if info.LeaderEpoch < l.since {
			return false, ErrNotLeader // This broker led, did not, and leads again.
		}
		cell := &p.ackedLeader
		if acks == AckAll {
			cell = &p.ackedAll
		}
		acked := cell.Load() > info.LastOffset
		switch {
		case p.lead.Load() != l: // The cell may be of another term.
			continue
		case acked && !p.manager.leased():
			return false, ErrNotLeader // Somebody else may lead already.
		case !acked && acks == AckAll && info.LastOffset < p.tooFewBelow.Load():
			return false, ErrNotEnoughReplicasAfterAppend
		}
		return acked, nil
	}
}
