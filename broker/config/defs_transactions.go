package config

import "time"

// Transactions configures transactions and where their state is kept.
type Transactions struct {
	// MaxTimeout is transaction.max.timeout.ms.
	MaxTimeout time.Duration
	// IDExpiration is transactional.id.expiration.ms.
	IDExpiration time.Duration
	// AbortInterval and ExpiryInterval say how often timed-out transactions and
	// expired ids are looked for.
	AbortInterval, ExpiryInterval time.Duration
	// Verification is transaction.partition.verification.enable (KIP-890).
	Verification bool
	// Partitions, ReplicationFactor, MinISR, SegmentBytes and LoadBytes are
	// transaction.state.log.*.
	Partitions, ReplicationFactor, MinISR, SegmentBytes, LoadBytes int32
}

// transactionDefs are the names of the transaction coordinator.
var transactionDefs = []Def{
	broker("transaction.max.timeout.ms", func(b *Broker) *time.Duration { return &b.Transactions.MaxTimeout }, millis, "900000",
		"Longest timeout that a producer may ask for its transactions.", lasting(time.Millisecond)),
	broker("transactional.id.expiration.ms", func(b *Broker) *time.Duration { return &b.Transactions.IDExpiration }, millis, "604800000",
		"How long a transactional id that is not used is remembered; one with an open transaction always is.", lasting(time.Millisecond)),
	broker("transaction.abort.timed.out.transaction.cleanup.interval.ms", func(b *Broker) *time.Duration { return &b.Transactions.AbortInterval }, millis, "10000",
		"How often transactions past their timeout are looked for, to abort them.", lasting(time.Millisecond)),
	broker("transaction.remove.expired.transaction.cleanup.interval.ms", func(b *Broker) *time.Duration { return &b.Transactions.ExpiryInterval }, millis, "3600000",
		"How often transactional ids past their expiration are looked for.", lasting(time.Millisecond)),
	broker("transaction.partition.verification.enable", func(b *Broker) *bool { return &b.Transactions.Verification }, boolean, "true",
		"Whether a leader asks the coordinator if a partition is part of a transaction before it takes the transaction's first records (KIP-890): a late request cannot leave a transaction open for ever.", nil, dynamic),
	broker("transaction.state.log.num.partitions", func(b *Broker) *int32 { return &b.Transactions.Partitions }, integer, "50",
		"Partitions of __transaction_state, counted when it is created. Not to change later: an id belongs to a partition by its hash.", atLeast[int32](1)),
	broker("transaction.state.log.replication.factor", func(b *Broker) *int32 { return &b.Transactions.ReplicationFactor }, integer, "3",
		"Replication factor of __transaction_state; fewer where fewer brokers live when it is created.", atLeast[int32](1)),
	broker("transaction.state.log.min.isr", func(b *Broker) *int32 { return &b.Transactions.MinISR }, integer, "2",
		"min.insync.replicas of __transaction_state; fewer where fewer brokers live when it is created.", atLeast[int32](1)),
	broker("transaction.state.log.segment.bytes", func(b *Broker) *int32 { return &b.Transactions.SegmentBytes }, integer, "104857600",
		"Segment size of __transaction_state: small keeps compaction and loading quick.", atLeast[int32](1)),
	broker("transaction.state.log.load.buffer.size", func(b *Broker) *int32 { return &b.Transactions.LoadBytes }, integer, "5242880",
		"How much of a partition of __transaction_state is read at a time when its transactions are loaded.", atLeast[int32](1)),
}
