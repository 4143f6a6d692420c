package sim

import (
	"strconv"
	"time"

	"tidemark/internal/trace"
	"tidemark/replication"
)

// client is a producer or a consumer. A producer has one record under way at a
// time and tries it again until it is acknowledged or given up; every record has
// a value of its own.
type client struct {
	*world
	end      endpoint
	consumer bool
	acks     int8

	leader      endpoint // who it believes to lead
	leaderEpoch int32
	correlation uint32
	pending     bool
	value       uint32
	tries       int
	floor       int64 // highest acknowledged offset when the value was first sent
	position    int64
	readEpoch   int32 // leader epoch of who served it last
	declared    int   // elections that gave records up, when the value was first sent
}

// onClient runs what a job asks of a client.
func (c *client) onClient(j *job) {
	switch j.kind {
	case produceTimer:
		c.produce()
	case produceTimeout:
		if c.pending && c.correlation == j.correlation {
			c.tryAgain()
		}
	case produceAnswer:
		c.onProduceAnswer(j)
	case consumeTimer:
		c.consume()
	case consumeAnswer:
		c.onConsumeAnswer(j)
	case metadataAnswer:
		if j.epoch >= c.leaderEpoch && j.index != replication.NoBroker {
			c.leader, c.leaderEpoch = endOf(j.index), j.epoch
		}
	}
}

func (c *client) later(kind jobKind, in time.Duration) *job {
	j := c.queue.add(c.now + in)
	j.kind, j.to = kind, c.end
	return j
}

// produce sends the next value, or the present one again.
func (c *client) produce() {
	if !c.pending {
		if c.draining {
			return
		}
		c.value = c.ghost.newValue(c.acks)
		c.floor, c.declared = c.ghost.highestAcked, c.ghost.declared
		c.tries, c.pending = 0, true
	}
	c.tries++
	c.correlation++
	c.later(produceTimeout, c.options.requestTimeout+c.options.requestTimeout/2).correlation = c.correlation
	if c.trace != nil {
		c.emit(harness, trace.Event{Kind: trace.Probe, TopicPartition: partitionName, Epoch: c.leaderEpoch, Phase: "sent", Key: valueKey(c.value), From: -1})
	}
	if j := c.post(produceRequest, c.end, c.leader); j != nil {
		j.correlation, j.value, j.acks = c.correlation, c.value, c.acks
	}
	if c.acks == 0 {
		c.done()
	}
}

func (c *client) done() {
	c.pending = false
	c.later(produceTimer, c.random.around(c.options.producePeriod))
}

// tryAgain asks somebody who leads, and sends once more.
func (c *client) tryAgain() {
	c.askLeader()
	if c.tries >= 8 && !c.healed {
		c.done() // given up; it may be in the log, or may still arrive there
		return
	}
	c.correlation++ // what is under way is ignored
	c.later(produceTimer, c.random.around(c.options.producePeriod))
}

func (c *client) askLeader() {
	c.post(metadataRequest, c.end, endpoint(c.random.below(len(c.brokers))))
}

func (c *client) onProduceAnswer(j *job) {
	if !c.pending || j.correlation != c.correlation {
		return
	}
	if j.version != codeOK {
		if j.version == codeRefused {
			c.ghost.refused(j.value, j.correlation<<4|uint32(c.end))
		}
		c.tryAgain()
		return
	}
	c.ghost.orderHolds(c, j.offset)
	c.done()
}

// consume asks the believed leader for what comes next.
func (c *client) consume() {
	c.later(consumeTimer, c.random.around(c.options.consumePeriod))
	c.correlation++
	if j := c.post(consumeRequest, c.end, c.leader); j != nil {
		j.correlation, j.offset = c.correlation, c.position
	}
}

func (c *client) onConsumeAnswer(j *job) {
	if j.correlation != c.correlation {
		return
	}
	if j.epoch < c.readEpoch { // an older leader: UNKNOWN_LEADER_EPOCH to this consumer (KIP-320)
		c.askLeader()
		return
	}
	switch {
	case j.version == codeRefused:
		c.askLeader()
	case j.version == codeUnknown && !j.yes && j.logEnd < c.position:
		c.world.onDisappeared(c, j)
		c.position = j.highWatermark
	case j.version == codeOK:
		c.world.onSeen(c, j)
		c.position += int64(len(j.entries))
		c.readEpoch = j.epoch
	}
	if c.random.chance(100) {
		c.askLeader()
	}
}

func valueKey(value uint32) string { return "v" + strconv.FormatUint(uint64(value), 10) }
