package replica

import "tidemark/commitlog"

// AppendInPlace is Append, from a client, of a batch of sizeBytes that has not
// been received beyond head: it goes where commitlog.Log.AppendInPlace receives
// it. Where taken is false nothing was received, and Append says what there is
// to say.
func (p *Partition) AppendInPlace(head []byte, sizeBytes int64, rest commitlog.Incoming, acks int16) (info commitlog.AppendInfo, moved, taken bool, err error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.check(AnyEpoch) != nil || p.admitted(acks) != nil {
		return info, false, false, nil
	}
	l := p.lead.Load()
	info, taken, err = p.log.AppendInPlace(head, sizeBytes, rest, l.epoch)
	switch {
	case !taken:
		return info, false, false, nil
	case err != nil:
		return info, false, true, p.failed("append", err)
	}
	info.LeaderEpoch = l.epoch
	return info, p.appended(l, &info), true, nil
}
