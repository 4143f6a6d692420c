package controller

import (
	"strconv"

	"tidemark/internal/trace"
)

// traceElected tells who leads a partition from now on, as it is written.
func (c *Controller) traceElected(p *partition, before int32) {
	if !c.o.Trace.On() {
		return
	}
	e := trace.Event{
		Kind: trace.Leader, TopicPartition: p.topic.Name + "-" + strconv.Itoa(int(p.index)), Epoch: p.state.LeaderEpoch, Phase: "elected",
		OldLeader: before, Leader: p.state.Leader, Unclean: p.state.Recovering,
	}
	for _, m := range p.state.ISR {
		e.New = append(e.New, m.Broker)
	}
	c.o.Trace.Emit(e)
}
