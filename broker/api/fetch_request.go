package api

import (
	"fmt"
	"time"

	"tidemark/broker/replica"
	"tidemark/protocol/wire"
	"tidemark/replication"
)

// decode reads the body. Topic names are found as the replica manager's strings,
// so that nothing is kept of the frame and nothing is allocated for known topics.
func (f *fetch) decode() error {
	version := f.call.header.Version
	r := wire.Reader{Src: f.call.body, Flexible: version >= firstFlexibleFetch}
	f.replica, f.brokerEpoch, f.rack = consumer, replication.NoBrokerEpoch, ""
	if version < 15 {
		f.replica = r.Int32()
	}
	f.wait = time.Duration(max(r.Int32(), 0)) * time.Millisecond
	f.minBytes, f.maxBytes = int64(r.Int32()), int64(r.Int32())
	f.maxBytes = min(f.maxBytes, int64(f.server.o.Configs.Broker().FetchMaxBytes))
	f.minBytes = min(f.minBytes, f.maxBytes)
	isolation := replica.ReadUncommitted
	if r.Int8() == 1 {
		isolation = replica.ReadCommitted
	}
	f.session = 0
	if version >= 7 {
		f.session = r.Int32()
		r.Int32() // session epoch: there are no sessions
	}
	if err := f.decodeTopics(&r, version, isolation); err != nil {
		return err
	}
	if version >= 7 {
		skipForgotten(&r, version)
	}
	if version >= 11 {
		f.decodeRack(r.Text())
	}
	r.Tags(func(tag uint32, value wire.Reader) {
		if tag == 1 && version >= 15 {
			f.replica, f.brokerEpoch = value.Int32(), value.Int64()
		}
	})
	for i := range f.parts {
		if f.replica != consumer {
			f.parts[i].read.Isolation = replica.ReadAsReplica
		}
		f.parts[i].read.AnyReplica = f.replica == consumer && version >= firstRackFetch && f.server.rackAware()
	}
	return r.Err(f.call.header)
}

func (f *fetch) decodeTopics(r *wire.Reader, version int16, isolation replica.Isolation) error {
	f.topics = 0
	for topics := r.Array(5); topics > 0 && !r.Bad; topics-- {
		var name string
		var id [16]byte
		if version >= firstTopicIDFetch {
			id = r.UUID()
		} else {
			name = f.server.topicName(r.Text())
		}
		partitions := r.Array(16)
		first := len(f.parts)
		for i := range partitions {
			part := fetchPart{topic: name, id: id, newTopic: i == 0, preferred: -1, lastEpoch: -1}
			part.read.Isolation = isolation
			part.decode(r, version)
			r.Tags(func(tag uint32, value wire.Reader) {
				if tag == 0 && version >= firstDirFetch && len(f.dirs) == len(f.parts) {
					f.dirs = append(f.dirs, value.UUID())
				}
			})
			if r.Bad {
				break
			}
			if len(f.parts) == maxPartitions {
				return fmt.Errorf("%w: more than %d partitions", wire.ErrMalformed, maxPartitions)
			}
			f.parts = append(f.parts, part)
		}
		r.Tags(nil)
		if len(f.parts) > first {
			f.parts[first].siblings = int32(len(f.parts) - first)
			f.topics++
		}
	}
	return nil
}

func (part *fetchPart) decode(r *wire.Reader, version int16) {
	part.index = r.Int32()
	part.read.LeaderEpoch = replica.AnyEpoch
	if version >= 9 {
		part.read.LeaderEpoch = max(r.Int32(), replica.AnyEpoch)
	}
	part.read.Offset = r.Int64()
	if version >= 12 {
		part.lastEpoch = r.Int32()
	}
	if version >= 5 {
		r.Int64() // a follower's log start offset
	}
	part.read.MaxBytes = int64(max(r.Int32(), 0))
}

// skipForgotten reads over what a fetch session would drop.
func skipForgotten(r *wire.Reader, version int16) {
	for topics := r.Array(5); topics > 0 && !r.Bad; topics-- {
		if version >= firstTopicIDFetch {
			r.UUID()
		} else {
			r.Text()
		}
		r.Take(4 * r.Array(4))
		r.Tags(nil)
	}
}

// topicName is the name as a string, without allocating where the topic is here.
func (s *Server) topicName(name []byte) string {
	if t := s.o.Replicas.TopicBytes(name); t != nil {
		return t.Name
	}
	return string(name)
}
