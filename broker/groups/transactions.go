package groups

import (
	"tidemark/coordinator/shard"
	"tidemark/protocol/record"
)

// CompleteTransaction writes the marker that ends a producer's transaction on a
// partition of __consumer_offsets: what it committed there counts, or is dropped. done
// is called as in Submit; newer is replica.Partition.AppendMarker's.
func (c *Coordinator) CompleteTransaction(partition int32, marker record.EndTxnMarker, newer bool, done func(shard.Reply)) {
	c.host.CompleteTransaction(partition, marker, newer, done)
}
