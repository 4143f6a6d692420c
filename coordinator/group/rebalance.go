package group

import "time"

// maybePrepareRebalance starts a rebalance unless one is being prepared.
func (g *Groups) maybePrepareRebalance(now time.Time, c *group, out *Outcome) {
	if c.state != PreparingRebalance {
		g.prepareRebalance(now, c, out)
	}
}

// prepareRebalance waits for all members to join (again). Members whose sync waits
// are told to rejoin. From Empty it first waits for others to come, so that a group
// that is started all at once rebalances once.
func (g *Groups) prepareRebalance(now time.Time, c *group, out *Outcome) {
	if c.state == CompletingRebalance {
		for _, m := range c.members {
			m.assignment = nil
			if m.syncing != 0 {
				answerSync(m, ErrRebalanceInProgress, out)
				c.awaitHeartbeat(m, m.sessionTimeout, out)
			}
		}
	}
	clear(c.unsynced)
	out.Cancel(c.timer(syncTimer, ""))
	wait := c.rebalanceTimeout(g.options.TimeoutRule)
	if c.initial = c.state == Empty && g.options.InitialRebalanceDelay > 0; c.initial {
		c.grown = false
		c.delayLeft = max(wait-g.options.InitialRebalanceDelay, 0)
		wait = g.options.InitialRebalanceDelay
	}
	c.become(PreparingRebalance, now)
	if c.allJoined() {
		g.completeJoin(now, c, out)
		return
	}
	out.Set(c.timer(rebalanceTimer, ""), wait)
}

// rebalanceTimeout is how long members may take to join again.
func (c *group) rebalanceTimeout(rule TimeoutRule) time.Duration {
	var longest time.Duration
	for _, m := range c.members {
		if rule == LargestSessionTimeout {
			longest = max(longest, m.sessionTimeout)
		} else {
			longest = max(longest, m.rebalanceTimeout)
		}
	}
	return longest
}

// allJoined says that a rebalance needs to wait for nobody.
func (c *group) allJoined() bool {
	return !c.initial && c.joining == len(c.members) && len(c.pending) == 0
}

// tryCompleteJoin completes the rebalance being prepared once everybody has joined.
func (g *Groups) tryCompleteJoin(now time.Time, c *group, out *Outcome) {
	if c.state == PreparingRebalance && c.allJoined() {
		g.completeJoin(now, c, out)
	}
}

// rebalanceTimedOut ends the wait for members. The initial delay goes on as long as
// members keep coming to a group that never had a generation (InitialDelayedJoin).
func (g *Groups) rebalanceTimedOut(now time.Time, c *group, out *Outcome) {
	if c.state != PreparingRebalance {
		return
	}
	if c.initial && c.grown && c.generation == 0 && c.delayLeft > 0 {
		delay := min(g.options.InitialRebalanceDelay, c.delayLeft)
		c.grown, c.delayLeft = false, c.delayLeft-delay
		out.Set(c.timer(rebalanceTimer, ""), delay)
		return
	}
	g.completeJoin(now, c, out)
}

// completeJoin begins the next generation with those who have joined, and static
// members, who keep their place until their session ends (onCompleteJoin). Where
// nobody of a group has joined, it waits once more, for sessions to end.
func (g *Groups) completeJoin(now time.Time, c *group, out *Outcome) {
	for i := len(c.members) - 1; i >= 0; i-- {
		if m := c.members[i]; m.joining == 0 && m.instance == "" {
			out.Cancel(c.timer(heartbeatTimer, m.id))
			c.remove(m)
		}
	}
	if !c.electJoined() && len(c.members) > 0 {
		out.Set(c.timer(rebalanceTimer, ""), c.rebalanceTimeout(g.options.TimeoutRule))
		return
	}
	c.initial = false
	out.Cancel(c.timer(rebalanceTimer, ""))
	c.generation++
	if len(c.members) == 0 {
		c.protocol = ""
		c.become(Empty, now)
		out.Records = append(out.Records, c.record(now, nil))
		return
	}
	g.beginGeneration(now, c, out)
}

// electJoined makes a member that has joined the leader, the present one if it has;
// it reports whether there is one.
func (c *group) electJoined() bool {
	if m := c.byID[c.leader]; m != nil && m.joining != 0 {
		return true
	}
	for _, m := range c.members {
		if m.joining != 0 {
			c.leader = m.id
			return true
		}
	}
	return false
}

// beginGeneration answers all joins; from here on each member owes a sync, and the
// leader the assignments.
func (g *Groups) beginGeneration(now time.Time, c *group, out *Outcome) {
	c.protocol = c.choose()
	c.become(CompletingRebalance, now)
	for _, m := range c.members {
		c.answerJoin(m, c.joinReply(m), nil, out)
		c.awaitHeartbeat(m, m.sessionTimeout, out)
		m.fresh = false
		c.unsynced[m.id] = true
	}
	g.awaitSyncs(c, out)
}
