package controller

// fenceAnswer is what a replica said, in which registration.
type fenceAnswer struct {
	FenceAnswer
	brokerEpoch int64
}

// fenceReplica has a replica asked how far it is, if it is not being asked already.
func (c *Controller) fenceReplica(p *partition, id int32) {
	p.fenced = true
	if b := c.brokers[id]; b != nil {
		b.sender.fence(p.key(), p.fenceEpoch)
	}
}

// onFenceAnswer takes an answer in. One for another epoch than is to be decided now,
// or of an earlier office, says nothing.
func (c *Controller) onFenceAnswer(s *sender, k key, epoch int32, a FenceAnswer) {
	b := c.brokers[s.broker.ID]
	if b == nil || b.sender != s {
		return
	}
	p := c.find(k.TopicPartition)
	if p == nil || p.topic.ID != k.id || p.fenceEpoch != epoch {
		return
	}
	if p.answers == nil {
		p.answers = map[int32]fenceAnswer{}
	}
	p.answers[s.broker.ID] = fenceAnswer{a, s.broker.Epoch}
	c.dirty[p] = true
}

// onOffline notes that a replica's log directory failed: it counts as dead.
func (c *Controller) onOffline(s *sender, k key) {
	b := c.brokers[s.broker.ID]
	if b == nil || b.sender != s {
		return
	}
	p := c.find(k.TopicPartition)
	if p == nil || p.topic.ID != k.id || p.offline[s.broker.ID] == s.broker.Epoch {
		return
	}
	if p.offline == nil {
		p.offline = map[int32]int64{}
	}
	p.offline[s.broker.ID] = s.broker.Epoch
	c.log.Warn("replica is offline", "topic", k.Topic, "partition", k.Partition, "broker", s.broker.ID)
	c.dirty[p] = true
}
