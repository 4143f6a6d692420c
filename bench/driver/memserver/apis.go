package memserver

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/protocol/wire"
)

// api is a served request: its versions and what answers it. A nil answer sends
// nothing.
type api struct {
	key, min, max int16
	handle        func(*Server, kmsg.Request) kmsg.Response
}

// apis is the whole protocol of the server besides ApiVersions. Fetch is
// answered by hand.
var apis = []api{
	{int16(kmsg.Produce), 3, 9, produce},
	{int16(kmsg.Fetch), 4, 11, nil},
	{int16(kmsg.ListOffsets), 1, 6, listOffsets},
	{int16(kmsg.Metadata), 4, 9, metadata},
	{int16(kmsg.CreateTopics), 2, 5, createTopics},
	{int16(kmsg.DeleteTopics), 1, 5, deleteTopics},
	{int16(kmsg.InitProducerID), 0, 4, initProducerID},
}

func find(key int16) *api {
	for i := range apis {
		if apis[i].key == key {
			return &apis[i]
		}
	}
	return nil
}

const (
	codeUnknownTopic = int16(wire.UnknownTopicOrPartition)
	codeTopicExists  = int16(wire.TopicAlreadyExists)
	nodeID           = 1
)

// topic is what the server remembers: counts, and batches for fetches.
type topic struct{ partitions []*partition }

// keptBytes is how many bytes of batches a partition remembers for fetches.
const keptBytes = 2 << 20

// partition counts the records that came and serves the first batches again and
// again. Guarded by the server's mu; the batches are never changed once kept.
type partition struct {
	end   int64
	kept  [][]byte
	start []int64 // first record of each kept batch, from 0
	cycle int64   // records in kept
	bytes int64
	full  bool
}

// take counts a batch, and keeps it while there is room.
func (p *partition) take(records []byte) (base int64) {
	base = p.end
	for len(records) >= 61 {
		size := 12 + int(int32(binary.BigEndian.Uint32(records[8:])))
		if size < 61 || size > len(records) {
			return base
		}
		count := int64(int32(binary.BigEndian.Uint32(records[57:])))
		if count < 1 {
			return base
		}
		if !p.full {
			p.kept = append(p.kept, append([]byte(nil), records[:size]...))
			p.start = append(p.start, p.cycle)
			p.cycle += count
			p.bytes += int64(size)
			p.full = p.bytes >= keptBytes
		}
		p.end += count
		records = records[size:]
	}
	return base
}

func produce(s *Server, request kmsg.Request) kmsg.Response {
	r := request.(*kmsg.ProduceRequest)
	out := r.ResponseKind().(*kmsg.ProduceResponse)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range r.Topics {
		answer := kmsg.ProduceResponseTopic{Topic: t.Topic}
		known := s.topics[t.Topic]
		for _, p := range t.Partitions {
			a := kmsg.NewProduceResponseTopicPartition()
			a.Partition, a.LogAppendTime = p.Partition, -1
			if known == nil || int(p.Partition) >= len(known.partitions) || p.Partition < 0 {
				a.ErrorCode = codeUnknownTopic
			} else {
				a.BaseOffset = known.partitions[p.Partition].take(p.Records)
			}
			answer.Partitions = append(answer.Partitions, a)
		}
		out.Topics = append(out.Topics, answer)
	}
	close(s.grown)
	s.grown = make(chan struct{})
	if r.Acks == 0 {
		return nil
	}
	return out
}

func listOffsets(s *Server, request kmsg.Request) kmsg.Response {
	r := request.(*kmsg.ListOffsetsRequest)
	out := r.ResponseKind().(*kmsg.ListOffsetsResponse)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range r.Topics {
		answer := kmsg.ListOffsetsResponseTopic{Topic: t.Topic}
		known := s.topics[t.Topic]
		for _, p := range t.Partitions {
			a := kmsg.NewListOffsetsResponseTopicPartition()
			a.Partition = p.Partition
			if known == nil || int(p.Partition) >= len(known.partitions) || p.Partition < 0 {
				a.ErrorCode = codeUnknownTopic
			} else if a.Offset = 0; p.Timestamp == -1 {
				a.Offset = known.partitions[p.Partition].end
			}
			answer.Partitions = append(answer.Partitions, a)
		}
		out.Topics = append(out.Topics, answer)
	}
	return out
}

func metadata(s *Server, request kmsg.Request) kmsg.Response {
	r := request.(*kmsg.MetadataRequest)
	out := r.ResponseKind().(*kmsg.MetadataResponse)
	out.Brokers = []kmsg.MetadataResponseBroker{{NodeID: nodeID, Host: s.host, Port: s.port}}
	cluster := "memory"
	out.ClusterID, out.ControllerID = &cluster, nodeID
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, t := range r.Topics {
		if t.Topic != nil {
			names = append(names, *t.Topic)
		}
	}
	if r.Topics == nil {
		for name := range s.topics {
			names = append(names, name)
		}
	}
	for _, name := range names {
		answer := kmsg.NewMetadataResponseTopic()
		answer.Topic = &name
		known := s.topics[name]
		if known == nil {
			answer.ErrorCode = codeUnknownTopic
			out.Topics = append(out.Topics, answer)
			continue
		}
		for i := range known.partitions {
			p := kmsg.NewMetadataResponseTopicPartition()
			p.Partition, p.Leader = int32(i), nodeID
			p.Replicas, p.ISR = []int32{nodeID}, []int32{nodeID}
			answer.Partitions = append(answer.Partitions, p)
		}
		out.Topics = append(out.Topics, answer)
	}
	return out
}

// maxPartitions bounds a topic of this server.
const maxPartitions = 4096

func createTopics(s *Server, request kmsg.Request) kmsg.Response {
	r := request.(*kmsg.CreateTopicsRequest)
	out := r.ResponseKind().(*kmsg.CreateTopicsResponse)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range r.Topics {
		answer := kmsg.NewCreateTopicsResponseTopic()
		answer.Topic, answer.NumPartitions, answer.ReplicationFactor = t.Topic, t.NumPartitions, 1
		if s.topics[t.Topic] != nil {
			answer.ErrorCode = codeTopicExists
		} else {
			created := &topic{}
			for range min(max(1, t.NumPartitions), maxPartitions) {
				created.partitions = append(created.partitions, &partition{})
			}
			s.topics[t.Topic] = created
		}
		out.Topics = append(out.Topics, answer)
	}
	return out
}

func deleteTopics(s *Server, request kmsg.Request) kmsg.Response {
	r := request.(*kmsg.DeleteTopicsRequest)
	out := r.ResponseKind().(*kmsg.DeleteTopicsResponse)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range r.TopicNames {
		answer := kmsg.NewDeleteTopicsResponseTopic()
		answer.Topic = &name
		if s.topics[name] == nil {
			answer.ErrorCode = codeUnknownTopic
		}
		delete(s.topics, name)
		out.Topics = append(out.Topics, answer)
	}
	return out
}

func initProducerID(_ *Server, request kmsg.Request) kmsg.Response {
	out := request.ResponseKind().(*kmsg.InitProducerIDResponse)
	out.ProducerID = 1
	return out
}
