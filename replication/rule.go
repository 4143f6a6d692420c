package replication

// Rule is what makes one strategy differ from another. Its methods are asked of
// a leader only, with the replica as it stands after an event; they read the
// replica's exported methods and change nothing. A strategy embeds Common and
// writes the first two.
type Rule interface {
	// AdvanceHighWatermark returns up to where consumers may read. A value below
	// the present high watermark changes nothing.
	AdvanceHighWatermark(r *Replica) int64
	// AdvanceAck returns up to where producers with acks=all may be answered,
	// once the high watermark has moved. A value below the present one changes
	// nothing.
	AdvanceAck(r *Replica) int64
	// ProposeISR returns the set that should be written, appended to set, and
	// why; 0 where the present one is right. It is not asked while a proposal is
	// under way.
	ProposeISR(r *Replica, set []Member) ([]Member, Why)
	// Admits reports whether a producer with acks=all may append: where it may
	// not, those that wait are told so too.
	Admits(r *Replica) bool
	// ControlBatch reports whether a leader appends a batch of its own epoch on
	// taking office.
	ControlBatch() bool
	// Waiting says in words why the high watermark is not the log end.
	Waiting(r *Replica) string
}

// Common is what the shipped strategies have in common, Kafka's way: the set
// grows by who caught up and shrinks by who lags, acks=all follows the high
// watermark and needs min.insync.replicas.
type Common struct{}

// AdvanceAck is the high watermark where min.insync.replicas is met.
func (Common) AdvanceAck(r *Replica) int64 {
	if !r.EnoughInSync() {
		return 0
	}
	return r.HighWatermark()
}

// ProposeISR is the ISR without who lags and with who caught up.
func (Common) ProposeISR(r *Replica, set []Member) ([]Member, Why) {
	if left, dropped := r.WithoutLagging(set); dropped {
		return left, Lagging
	}
	if grown, joined := r.WithCaughtUp(set); joined {
		return grown, CaughtUp
	}
	return set, 0
}

// Admits is min.insync.replicas.
func (Common) Admits(r *Replica) bool { return r.EnoughInSync() }

// ControlBatch is false.
func (Common) ControlBatch() bool { return false }

// Waiting names the members that hold the high watermark back, or the rule that
// freezes it.
func (Common) Waiting(r *Replica) string {
	if !r.EnoughInSync() {
		return r.DescribeTooFew()
	}
	return r.DescribeBehind(func(p *Peer) bool { return Contains(r.Maximal(), p.Broker) }, nil)
}
