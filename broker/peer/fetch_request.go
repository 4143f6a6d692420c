package peer

import (
	"encoding/binary"

	"tidemark/protocol/wire"
)

// FetchRequest is a follower's fetch: Kafka's version 17, without a session.
// Partitions of a topic stand together.
type FetchRequest struct {
	// ReplicaID and BrokerEpoch are the follower's id and registration (KIP-903).
	ReplicaID   int32
	BrokerEpoch int64
	// MaxWaitMs and MinBytes say how long the leader may keep the request,
	// MaxBytes bounds the records of the response.
	MaxWaitMs, MinBytes, MaxBytes int32
	Partitions                    []FetchPartition
	// Correlation is the request's correlation id, for who tells requests of several
	// connections apart; 0 leaves it to the connection.
	Correlation int32
}

// FetchPartition is one partition of a FetchRequest.
type FetchPartition struct {
	TopicID [16]byte
	Index   int32
	// LeaderEpoch is the epoch that the follower follows.
	LeaderEpoch int32
	FetchOffset int64
	// LastFetchedEpoch is the leader epoch of the follower's last record, −1 for
	// none or where it truncates by high watermark.
	LastFetchedEpoch int32
	LogStartOffset   int64
	MaxBytes         int32
	// Dir is the log directory that the follower's replica lies in
	// (ReplicaDirectoryId, KIP-853).
	Dir [16]byte
}

const (
	fetchVersion = 17

	noSession        = -1 // epoch of a request that begins no session (KIP-227)
	tagReplicaDir    = 0  // of a partition
	tagReplicaState  = 1  // of the request
	replicaStateSize = 4 + 8 + 1
)

// appendTo appends the body of the request.
//
//	max wait 4 | min bytes 4 | max bytes 4 | isolation 1 | session id 4, epoch 4 |
//	topics [id 16 | partitions [index 4 | leader epoch 4 | fetch offset 8 |
//	last fetched epoch 4 | log start 8 | max bytes 4 | tags: 0 dir] | tags] |
//	forgotten topics [] | rack "" | tags: 1 replica state (id 4, epoch 8)
func (r *FetchRequest) appendTo(to []byte) []byte {
	to = appendInt32(to, r.MaxWaitMs)
	to = appendInt32(to, r.MinBytes)
	to = appendInt32(to, r.MaxBytes)
	to = append(to, 0)
	to = appendInt32(to, 0)
	to = appendInt32(to, noSession)
	to = appendLength(to, r.topics())
	for i := 0; i < len(r.Partitions); {
		n := r.topicSize(i)
		to = append(to, r.Partitions[i].TopicID[:]...)
		to = appendLength(to, n)
		for j := i; j < i+n; j++ {
			to = r.Partitions[j].appendTo(to)
		}
		to = append(to, 0)
		i += n
	}
	to = appendLength(to, 0)
	to = appendLength(to, 0)
	to = append(to, 1, tagReplicaState, replicaStateSize)
	to = appendInt32(to, r.ReplicaID)
	to = appendInt64(to, r.BrokerEpoch)
	return append(to, 0)
}

func (p *FetchPartition) appendTo(to []byte) []byte {
	to = appendInt32(to, p.Index)
	to = appendInt32(to, p.LeaderEpoch)
	to = appendInt64(to, p.FetchOffset)
	to = appendInt32(to, p.LastFetchedEpoch)
	to = appendInt64(to, p.LogStartOffset)
	to = appendInt32(to, p.MaxBytes)
	if p.Dir == [dirSize]byte{} {
		return append(to, 0)
	}
	to = append(to, 1, tagReplicaDir, dirSize)
	return append(to, p.Dir[:]...)
}

// topics counts the runs of one topic id.
func (r *FetchRequest) topics() (n int) {
	for i := 0; i < len(r.Partitions); i += r.topicSize(i) {
		n++
	}
	return n
}

// topicSize is how many partitions from the first on are of its topic.
func (r *FetchRequest) topicSize(first int) int {
	n := 1
	for first+n < len(r.Partitions) && r.Partitions[first+n].TopicID == r.Partitions[first].TopicID {
		n++
	}
	return n
}

// appendFrame appends the request with header and length.
func (r *FetchRequest) appendFrame(to []byte, clientID string, correlationID int32) []byte {
	start := len(to)
	to = append(to, 0, 0, 0, 0)
	to = appendInt16(to, wire.KeyFetch)
	to = appendInt16(to, fetchVersion)
	to = appendInt32(to, correlationID)
	to = appendInt16(to, int16(len(clientID)))
	to = append(append(to, clientID...), 0)
	to = r.appendTo(to)
	binary.BigEndian.PutUint32(to[start:], uint32(len(to)-start-4))
	return to
}
