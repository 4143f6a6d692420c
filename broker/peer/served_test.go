package peer

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The other side of what clients ask for too: package api has handlers of its own for
// Fetch, WriteTxnMarkers and AddPartitionsToTxn.

// decodeFetchRequest reads what a follower asked; the slice of partitions in
// into is used again. The request is of version 17 or another that has topic ids
// and the replica's state (15 on).
func decodeFetchRequest(req *kmsg.FetchRequest, into *FetchRequest) {
	*into = FetchRequest{
		ReplicaID: req.ReplicaState.ID, BrokerEpoch: req.ReplicaState.Epoch,
		MaxWaitMs: req.MaxWaitMillis, MinBytes: req.MinBytes, MaxBytes: req.MaxBytes, Partitions: into.Partitions[:0],
	}
	for i := range req.Topics {
		topic := &req.Topics[i]
		for j := range topic.Partitions {
			p := &topic.Partitions[j]
			into.Partitions = append(into.Partitions, FetchPartition{
				TopicID: topic.TopicID, Index: p.Partition, LeaderEpoch: p.CurrentLeaderEpoch, FetchOffset: p.FetchOffset,
				LastFetchedEpoch: p.LastFetchedEpoch, LogStartOffset: p.LogStartOffset, MaxBytes: p.PartitionMaxBytes, Dir: p.ReplicaDirectoryID,
			})
		}
	}
}

// decodeWriteTxnMarkers reads the request.
func decodeWriteTxnMarkers(req *kmsg.WriteTxnMarkersRequest) (WriteTxnMarkers, error) {
	var r WriteTxnMarkers
	for i := range req.Markers {
		marker := &req.Markers[i]
		m := TxnMarker{ProducerID: marker.ProducerID, ProducerEpoch: marker.ProducerEpoch, Committed: marker.Committed, CoordinatorEpoch: marker.CoordinatorEpoch, Version: marker.TransactionVersion}
		for _, topic := range marker.Topics {
			for _, index := range topic.Partitions {
				m.Partitions = append(m.Partitions, TopicPartition{topic.Topic, index})
			}
		}
		r.Markers = append(r.Markers, m)
	}
	return r, nil
}

// encodeWriteTxnMarkersAnswer makes the response.
func encodeWriteTxnMarkersAnswer(a WriteTxnMarkersAnswer) *kmsg.WriteTxnMarkersResponse {
	resp := kmsg.NewPtrWriteTxnMarkersResponse()
	resp.Version = writeTxnMarkersVersion
	for i := range a.Markers {
		m := &a.Markers[i]
		marker := kmsg.NewWriteTxnMarkersResponseMarker()
		marker.ProducerID = m.ProducerID
		for j, p := range m.Partitions {
			if j == 0 || p.Topic != m.Partitions[j-1].Topic {
				topic := kmsg.NewWriteTxnMarkersResponseMarkerTopic()
				topic.Topic = p.Topic
				marker.Topics = append(marker.Topics, topic)
			}
			result := kmsg.NewWriteTxnMarkersResponseMarkerTopicPartition()
			result.Partition, result.ErrorCode = p.Index, int16(p.ErrorCode)
			topic := &marker.Topics[len(marker.Topics)-1]
			topic.Partitions = append(topic.Partitions, result)
		}
		resp.Markers = append(resp.Markers, marker)
	}
	return resp
}

// decodeAddPartitionsToTxn reads the request of version 4 or later.
func decodeAddPartitionsToTxn(req *kmsg.AddPartitionsToTxnRequest) (AddPartitionsToTxn, error) {
	var r AddPartitionsToTxn
	for i := range req.Transactions {
		in := &req.Transactions[i]
		t := TxnPartitions{ID: in.TransactionalID, ProducerID: in.ProducerID, ProducerEpoch: in.ProducerEpoch, VerifyOnly: in.VerifyOnly}
		for _, topic := range in.Topics {
			for _, index := range topic.Partitions {
				t.Partitions = append(t.Partitions, TopicPartition{topic.Topic, index})
			}
		}
		r.Transactions = append(r.Transactions, t)
	}
	return r, nil
}

// encodeAddPartitionsToTxnAnswer makes the response.
func encodeAddPartitionsToTxnAnswer(a AddPartitionsToTxnAnswer) *kmsg.AddPartitionsToTxnResponse {
	resp := kmsg.NewPtrAddPartitionsToTxnResponse()
	resp.Version, resp.ErrorCode = addPartitionsToTxnVersion, int16(a.ErrorCode)
	for i := range a.Transactions {
		t := &a.Transactions[i]
		out := kmsg.NewAddPartitionsToTxnResponseTransaction()
		out.TransactionalID = t.ID
		for j, p := range t.Partitions {
			if j == 0 || p.Topic != t.Partitions[j-1].Topic {
				topic := kmsg.NewAddPartitionsToTxnResponseTransactionTopic()
				topic.Topic = p.Topic
				out.Topics = append(out.Topics, topic)
			}
			result := kmsg.NewAddPartitionsToTxnResponseTransactionTopicPartition()
			result.Partition, result.ErrorCode = p.Index, int16(p.ErrorCode)
			topic := &out.Topics[len(out.Topics)-1]
			topic.Partitions = append(topic.Partitions, result)
		}
		resp.Transactions = append(resp.Transactions, out)
	}
	return resp
}
