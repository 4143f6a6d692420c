package replication

// Candidates is what an election looks at.
type Candidates struct {
	// Replicas are the assigned brokers, preferred first, whether they live,
	// answered or neither.
	Replicas []Candidate
	// ISR, ELR are the partition's state as it stands, with the registrations
	// they belong to; NoBrokerEpoch where nobody recorded one. allsync and
	// KIP-966 keep in ELR who held everything when the ISR fell below
	// min.insync.replicas.
	ISR, ELR []Member
	// New is true for the first leader of a partition: there is nothing to have
	// missed.
	New bool
	// LastLeader is who leads now, and stays where it may; NoBroker where nobody
	// does, once FenceReplica was sent to anybody, or to have it chosen anew.
	LastLeader int32
}

// Candidate is one assigned replica as the controller knows it.
type Candidate struct {
	Broker int32
	// Live is true while the broker has a session, is not shutting down and its
	// log directory works.
	Live bool
	// BrokerEpoch is the registration of a live broker.
	BrokerEpoch int64
	// CleanEpoch is the registration that the broker says it left cleanly, or
	// survived (a lost session without a restart); NoBrokerEpoch if it cannot
	// say so.
	CleanEpoch int64
	// Answered is true once the replica answered FenceReplica for the epoch that
	// is to be decided; the next three are its answer.
	Answered     bool
	LastEpoch    int32
	LogEndOffset int64
	Dir          DirID
}

// Decision is the outcome of an election.
type Decision struct {
	// Leader is NoBroker where nobody may lead yet.
	Leader int32
	// ISR and ELR are the partition's new state; where Leader is NoBroker too.
	ISR, ELR []Member
	// Unclean is true where acknowledged records may be lost by it.
	Unclean bool
	// Fence are replicas whose answer to FenceReplica could bring the decision.
	Fence []int32
	// Why says in words what decided, or what is waited for.
	Why string
}
