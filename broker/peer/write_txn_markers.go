package peer

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/protocol/wire"
)

// WriteTxnMarkers is a transaction coordinator's word to leaders that
// transactions ended.
type WriteTxnMarkers struct{ Markers []TxnMarker }

// TxnMarker ends one producer's transaction in partitions. Partitions of a topic
// stand together.
type TxnMarker struct {
	ProducerID    int64
	ProducerEpoch int16
	// Committed is false where the transaction is aborted.
	Committed bool
	// CoordinatorEpoch is the leader epoch of the coordinator's partition of
	// __transaction_state.
	CoordinatorEpoch int32
	// Version is that of the producer's protocol: 2 where each transaction has a
	// producer epoch of its own (KIP-890).
	Version    int8
	Partitions []TopicPartition
}

// WriteTxnMarkersAnswer has a result for each marker.
type WriteTxnMarkersAnswer struct{ Markers []TxnMarkerResult }

// TxnMarkerResult is what became of one producer's marker.
type TxnMarkerResult struct {
	ProducerID int64
	Partitions []PartitionResult
}

// Version 2 is 1 with the transaction version.
const writeTxnMarkersVersion = 2

// EncodeWriteTxnMarkers makes the request.
func EncodeWriteTxnMarkers(r WriteTxnMarkers) *kmsg.WriteTxnMarkersRequest {
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	req.Version = writeTxnMarkersVersion
	for i := range r.Markers {
		m := &r.Markers[i]
		marker := kmsg.NewWriteTxnMarkersRequestMarker()
		marker.ProducerID, marker.ProducerEpoch, marker.Committed, marker.CoordinatorEpoch = m.ProducerID, m.ProducerEpoch, m.Committed, m.CoordinatorEpoch
		marker.TransactionVersion = m.Version
		for j, p := range m.Partitions {
			if j == 0 || p.Topic != m.Partitions[j-1].Topic {
				topic := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
				topic.Topic = p.Topic
				marker.Topics = append(marker.Topics, topic)
			}
			topic := &marker.Topics[len(marker.Topics)-1]
			topic.Partitions = append(topic.Partitions, p.Index)
		}
		req.Markers = append(req.Markers, marker)
	}
	return req
}

// DecodeWriteTxnMarkersAnswer reads the response.
func DecodeWriteTxnMarkersAnswer(resp *kmsg.WriteTxnMarkersResponse) (WriteTxnMarkersAnswer, error) {
	var a WriteTxnMarkersAnswer
	for i := range resp.Markers {
		marker := &resp.Markers[i]
		m := TxnMarkerResult{ProducerID: marker.ProducerID}
		for _, topic := range marker.Topics {
			for _, p := range topic.Partitions {
				m.Partitions = append(m.Partitions, PartitionResult{topic.Topic, p.Partition, wire.ErrorCode(p.ErrorCode)})
			}
		}
		a.Markers = append(a.Markers, m)
	}
	return a, nil
}
