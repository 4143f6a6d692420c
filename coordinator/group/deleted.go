package group

import (
	"maps"
	"slices"
	"time"

	"tidemark/coordinator/shard"
)

// DropReply is the answer to DropTopics.
type DropReply struct {
	// More says that there are more offsets than one batch should take: ask again.
	More bool
}

// DropTopics forgets the offsets of topics that were deleted, decided or not and
// whoever reads them, and replies with a DropReply: a topic that is made again under
// the name begins anew. It is Kafka's onPartitionsDeleted.
func (g *Groups) DropTopics(_ time.Time, topics []string, token shard.Token, out *Outcome) {
	out.RecordsOnly = true
	reply := &DropReply{}
	out.Reply(token, reply, nil)
	for _, id := range slices.Sorted(maps.Keys(g.groups)) {
		for _, at := range g.groups[id].everyOffset() {
			if !slices.Contains(topics, at.Topic) {
				continue
			}
			if len(out.Records) == sweepRecords {
				reply.More = true
				return
			}
			out.Records = append(out.Records, &OffsetRecord{Group: id, TopicPartition: at, Tombstone: true})
		}
	}
}
