package broker

import (
	"tidemark/replication"
)

// strategyOf is how the controller elects leaders of a topic. One whose strategy this
// process does not have gets no leader from it: what is safe is not known here.
func (b *Broker) strategyOf(topic string) (replication.Spec, replication.Config) {
	t, r := b.configs.Topic(topic), b.o.Config.Replication
	spec, err := b.o.Strategies.Find(t.Strategy)
	if err != nil {
		b.o.Logger.Error("nobody is elected: start every broker from a program that has the strategy", "topic", topic, "error", err)
		spec = replication.Spec{Name: t.Strategy, Elect: electNobody}
	}
	return spec, replication.Config{
		MinISR: int(t.MinInsyncReplicas), LagTimeMax: r.LagTimeMax, SyncedAcks: t.SyncedAcks(),
		Truncation: truncation(r.Truncation), ELR: b.configs.Broker().Replication.EligibleLeaders, UncleanElection: t.UncleanElection,
	}
}

func electNobody(c replication.Candidates, _ replication.Config) replication.Decision {
	return replication.Decision{Leader: replication.NoBroker, ISR: c.ISR, ELR: c.ELR, Why: "the strategy is not known"}
}

// truncation is replica.truncation.
func truncation(text string) replication.Truncation {
	if text == replication.ByHighWatermark.String() {
		return replication.ByHighWatermark
	}
	return replication.ByEpoch
}
