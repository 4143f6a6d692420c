package isr

import "tidemark/replication"

// Elect lets the first live member of the ISR lead, in order of assignment and
// not by log end: all of them have everything that was acknowledged. A member
// that is gone, or whose broker bounced, leaves the ISR (KIP-903). Only where
// none is left, and unclean.leader.election.enable allows it, any live replica
// leads and the rest is lost.
func Elect(c replication.Candidates, cfg replication.Config) replication.Decision {
	var d replication.Decision
	switch {
	case c.New:
		return c.Initial()
	case cfg.ELR:
		d = eligible(&c, cfg)
	default:
		d = inSync(&c)
	}
	if d.Leader == replication.NoBroker && len(d.Fence) == 0 && cfg.UncleanElection {
		if live := c.Live(); len(live) > 0 {
			first := c.First(live)
			return replication.Decision{Leader: first, ISR: c.Alone(first), Unclean: true, Why: "unclean: a live replica outside the ISR"}
		}
	}
	return d
}

// inSync is Kafka's election as it was before KIP-966: the last member of the
// ISR stays in it whatever became of it, and leads when it is back. If it lost
// unsynced records, they are lost though others have them: the last replica
// standing.
func inSync(c *replication.Candidates) replication.Decision {
	if sound := c.Present(c.ISR, replication.Sound); len(sound) > 0 {
		return replication.Decision{Leader: c.First(sound), ISR: sound, Why: "the first live member of the ISR"}
	}
	if absent := c.Present(c.ISR, replication.Absent); len(absent) > 0 {
		return replication.Decision{Leader: replication.NoBroker, ISR: absent, Why: "no member of the ISR is live"}
	}
	back := c.Present(c.ISR, replication.Bounced, replication.Rejoined)
	if first := c.First(back); first != replication.NoBroker {
		return replication.Decision{Leader: first, ISR: c.Alone(first), Why: "the last member of the ISR is back"}
	}
	return replication.Decision{Leader: replication.NoBroker, ISR: c.ISR, Why: "the ISR is empty"}
}

// eligible is the election of KIP-966: a member that restarted uncleanly is not
// trusted, even the last one; the eligible leaders have everything too, and one
// of them leads instead. Where nobody is left to be trusted, all of them are
// asked (its balanced recovery).
func eligible(c *replication.Candidates, cfg replication.Config) replication.Decision {
	full := c.FullSet()
	isr := c.Present(c.ISR, replication.Sound, replication.Rejoined)
	why := "the first live member of the ISR"
	if len(isr) == 0 {
		if others := c.Present(full, replication.Sound, replication.Rejoined); len(others) > 0 {
			isr, why = c.Alone(c.First(others)), "an eligible leader replica"
		}
	}
	if len(isr) > 0 {
		return replication.Decision{Leader: c.First(isr), ISR: isr, ELR: c.NextELR(isr, cfg.MinISR), Why: why}
	}
	d := c.Recover(full)
	if d.Leader == replication.NoBroker {
		d.ISR, d.ELR = nil, c.NextELR(nil, cfg.MinISR)
		return d
	}
	d.ELR = c.NextELR(d.ISR, cfg.MinISR)
	return d
}
