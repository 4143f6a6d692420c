package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/txns"
	"tidemark/coordinator/txn"
	"tidemark/protocol/wire"
)

// WriteTxnMarkers (27), versions 1 and 2: writes the markers that end transactions into
// partitions that are led here. Coordinators send it, and whoever clears away a
// transaction without one (KIP-664); 2 says which transaction.version the client has.
func writeTxnMarkers(s *Server, _ client, req *kmsg.WriteTxnMarkersRequest, answer func(kmsg.Response)) {
	markers := make([]txns.Marker, len(req.Markers))
	for i := range req.Markers {
		m := &req.Markers[i]
		markers[i] = txns.Marker{
			ProducerID: m.ProducerID, ProducerEpoch: m.ProducerEpoch, CoordinatorEpoch: m.CoordinatorEpoch, Commit: m.Committed,
			Version: int16(m.TransactionVersion),
		}
		for _, t := range m.Topics {
			for _, index := range t.Partitions {
				markers[i].Partitions = append(markers[i].Partitions, txn.Partition{Topic: t.Topic, Index: index})
			}
		}
	}
	s.o.Txns.WriteMarkers(markers, func(errs [][]error) {
		resp := kmsg.NewPtrWriteTxnMarkersResponse()
		for i := range req.Markers {
			resp.Markers = append(resp.Markers, writtenMarker(&req.Markers[i], errs[i]))
		}
		answer(resp)
	})
}

// writtenMarker says what became of a marker; errs are in order of its partitions.
func writtenMarker(m *kmsg.WriteTxnMarkersRequestMarker, errs []error) kmsg.WriteTxnMarkersResponseMarker {
	marker := kmsg.NewWriteTxnMarkersResponseMarker()
	marker.ProducerID = m.ProducerID
	for _, t := range m.Topics {
		topic := kmsg.NewWriteTxnMarkersResponseMarkerTopic()
		topic.Topic = t.Topic
		for _, index := range t.Partitions {
			topic.Partitions = append(topic.Partitions, kmsg.WriteTxnMarkersResponseMarkerTopicPartition{Partition: index, ErrorCode: int16(markerCode(errs[0]))})
			errs = errs[1:]
		}
		marker.Topics = append(marker.Topics, topic)
	}
	return marker
}

// markerCode maps an error of a partition, that of __consumer_offsets too: whoever
// sends markers looks for the leader again.
func markerCode(err error) wire.ErrorCode {
	switch code := partitionCode(err); code {
	case wire.NotCoordinator, wire.CoordinatorLoadInProgress, wire.CoordinatorNotAvailable:
		return wire.NotLeaderOrFollower
	default:
		return code
	}
}
