// Package peer is how brokers speak with each other: the messages of controller,
// leaders and followers as plain structs, their encoding both ways, and the
// connections they travel on (Pool).
//
// The messages are Kafka's of the time of ZooKeeper, in their last versions:
// LeaderAndIsr 7, StopReplica 4, UpdateMetadata 8, AlterPartition 3,
// ControlledShutdown 3, and of later: WriteTxnMarkers 2, AddPartitionsToTxn 5 and,
// from followers, Fetch 17. What they lack travels in tagged fields (KIP-482), which
// a reader of Kafka's alone steps over:
//
//	tag    in                                       bytes
//	10000  LeaderAndIsr, UpdateMetadata: partition  the ISR: epoch 8, dir 16 for each member, in the order of the ids
//	       AlterPartition response: partition       the same
//	       AlterPartition request: member           dir 16
//	10001  the three partitions above               the ELR: broker 4, epoch 8, dir 16 for each member
//	10002  LeaderAndIsr, UpdateMetadata: partition  the assignment, as 10000
//	10003  StopReplica: topic                       topic id 16
//
// An epoch is the czxid of a broker's registration, −1 where unknown; a dir is
// the id of a log directory, zero where unknown. A field that would say nothing
// is left out.
//
// FenceReplica (key 10001) is no message of Kafka's. It is served to brokers and
// not advertised to clients; its layout stands in fence_replica.go.
//
// Fetch, WriteTxnMarkers and AddPartitionsToTxn come from clients too and are served
// as theirs are; only the caller's side of them is here.
//
// Encoding and decoding are pure. The package does not act upon messages and
// does not know who is the controller.
package peer
