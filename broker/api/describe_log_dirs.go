package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/replica"
	"tidemark/protocol/wire"
)

// DescribeLogDirs (35), versions 0 to 4: what lies where. 3 brought a top-level
// error, 4 the size of the file system (KIP-827).

func describeLogDirs(s *Server, req *kmsg.DescribeLogDirsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeLogDirsResponse()
	wanted := s.described(req)
	for _, d := range s.o.Replicas.Dirs() {
		dir := kmsg.NewDescribeLogDirsResponseDir()
		dir.Dir, dir.TotalBytes, dir.UsableBytes = d.Path, d.TotalBytes, d.FreeBytes
		if d.Offline {
			dir.ErrorCode = int16(wire.KafkaStorageError)
			resp.Dirs = append(resp.Dirs, dir)
			continue
		}
		for _, partitions := range wanted {
			topic := kmsg.NewDescribeLogDirsResponseDirTopic()
			for _, p := range partitions {
				if p.Dir() != d.Path {
					continue
				}
				topic.Topic = p.Topic.Name
				answer := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
				answer.Partition, answer.Size = p.Index, p.Size()
				answer.OffsetLag = max(p.HighWatermark()-p.LogEndOffset(), 0)
				topic.Partitions = append(topic.Partitions, answer)
			}
			if len(topic.Partitions) > 0 {
				dir.Topics = append(dir.Topics, topic)
			}
		}
		resp.Dirs = append(resp.Dirs, dir)
	}
	return resp
}

// described lists the partitions asked for, by topic; null topics ask for all.
// Those that are not here are left out, and a topic named twice counts once.
func (s *Server) described(req *kmsg.DescribeLogDirsRequest) (byTopic [][]*replica.Partition) {
	if req.Topics == nil {
		for _, t := range s.o.Replicas.Topics() {
			byTopic = append(byTopic, t.Partitions())
		}
		return byTopic
	}
	at := make(map[string]int)
	seen := make(map[replica.ID]bool)
	for _, t := range req.Topics {
		if _, known := at[t.Topic]; !known {
			at[t.Topic] = len(byTopic)
			byTopic = append(byTopic, nil)
		}
		for _, index := range t.Partitions {
			p := s.o.Replicas.Partition(t.Topic, index)
			if p == nil || seen[p.ID()] {
				continue
			}
			seen[p.ID()] = true
			byTopic[at[t.Topic]] = append(byTopic[at[t.Topic]], p)
		}
	}
	return byTopic
}
