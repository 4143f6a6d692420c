package wire

import (
	"encoding/binary"

	"tidemark/engines"
	"tidemark/internal/invariant"
)

// The versions of Fetch that FetchWriter writes, and what each brought to the
// response.
const (
	FetchMinVersion = 4 // last stable offset, aborted transactions (KIP-98)
	FetchMaxVersion = 17

	fetchLogStart  = 5  // log start offset (KIP-107)
	fetchSessions  = 7  // error code and session id at the top (KIP-227)
	fetchPreferred = 11 // preferred read replica (KIP-392)
	fetchFlexible  = 12 // tagged fields: diverging epoch, current leader (KIP-595)
	fetchTopicIDs  = 13 // topic ids in place of names (KIP-516)
	fetchEndpoints = 16 // tagged field: endpoints of the current leaders (KIP-951)
)

// FetchHead is what a Fetch response says as a whole.
type FetchHead struct {
	ThrottleMs int32
	// ErrorCode and SessionID are sent from version 7 on.
	ErrorCode ErrorCode
	SessionID int32
}

// AbortedTransaction is a transaction whose records, from FirstOffset to its end
// marker, a read_committed consumer skips.
type AbortedTransaction struct {
	ProducerID, FirstOffset int64
}

// EpochEnd is the largest leader epoch not above the fetcher's, and where it
// ends in the leader's log.
type EpochEnd struct {
	Epoch     int32
	EndOffset int64
}

// LeaderEpoch says who leads a partition, and since which epoch.
type LeaderEpoch struct {
	LeaderID, LeaderEpoch int32
}

// NodeEndpoint is where a broker listens.
type NodeEndpoint struct {
	NodeID int32
	Host   string
	Port   int32
	Rack   *string // nil is null
}

// FetchPartition is the answer for one partition.
type FetchPartition struct {
	Index     int32
	ErrorCode ErrorCode
	// HighWatermark, LastStableOffset and LogStartOffset are -1 where unknown;
	// the last is sent from version 5 on.
	HighWatermark    int64
	LastStableOffset int64
	LogStartOffset   int64
	// Aborted is null when nil, as for read_uncommitted.
	Aborted []AbortedTransaction
	// PreferredReadReplica is -1 for none; sent from version 11 on.
	PreferredReadReplica int32
	// Records are whole batches; nil is none. The Response owns the chunk and
	// releases it.
	Records engines.Chunk
	// DivergingEpoch and CurrentLeader are left out when nil; sent from
	// version 12 on.
	DivergingEpoch *EpochEnd
	CurrentLeader  *LeaderEpoch
}

// FetchWriter builds a Fetch response piece by piece: so many topics, each with
// so many partitions, as announced. It is confined to one goroutine and belongs
// to its Response.
type FetchWriter struct {
	r       *Response
	version int16
	topics  int // still to come
	parts   int // still to come in the current topic
	inTopic bool
}

// NewFetchWriter starts the reply to the request of h, which is a Fetch of a
// version from FetchMinVersion to FetchMaxVersion.
func NewFetchWriter(h Header, head FetchHead, topics int) *FetchWriter {
	invariant.Check(h.Key == KeyFetch && h.Version >= FetchMinVersion && h.Version <= FetchMaxVersion,
		"fetch response to key %d, version %d", h.Key, h.Version)
	r := newResponse(h)
	w := &r.fetch
	*w = FetchWriter{r: r, version: h.Version, topics: topics}
	w.int32(head.ThrottleMs)
	if w.version >= fetchSessions {
		w.int16(int16(head.ErrorCode))
		w.int32(head.SessionID)
	}
	w.arrayLength(topics)
	return w
}

// Topic starts the next topic. The name is sent up to version 12, the id from
// 13 on.
func (w *FetchWriter) Topic(name string, id [16]byte, partitions int) {
	invariant.Check(w.topics > 0, "more topics than announced")
	w.endTopic()
	w.topics--
	w.parts, w.inTopic = partitions, true
	if w.version >= fetchTopicIDs {
		w.r.buf = append(w.r.buf, id[:]...)
	} else {
		w.string(name)
	}
	w.arrayLength(partitions)
}

// endTopic ends the topic that is open, if one is.
func (w *FetchWriter) endTopic() {
	invariant.Check(w.parts == 0, "%d partitions fewer than announced", w.parts)
	if w.inTopic {
		w.noTags()
	}
	w.inTopic = false
}

// Partition adds the next partition of the topic. Nothing of p is kept but its
// chunk.
func (w *FetchWriter) Partition(p *FetchPartition) {
	invariant.Check(w.parts > 0, "more partitions than announced")
	w.parts--
	w.int32(p.Index)
	w.int16(int16(p.ErrorCode))
	w.int64(p.HighWatermark)
	w.int64(p.LastStableOffset)
	if w.version >= fetchLogStart {
		w.int64(p.LogStartOffset)
	}
	w.aborted(p.Aborted)
	if w.version >= fetchPreferred {
		w.int32(p.PreferredReadReplica)
	}
	w.records(p.Records)
	if w.version >= fetchFlexible {
		w.partitionTags(p)
	}
}

func (w *FetchWriter) aborted(list []AbortedTransaction) {
	if list == nil {
		w.nullArray()
		return
	}
	w.arrayLength(len(list))
	for _, t := range list {
		w.int64(t.ProducerID)
		w.int64(t.FirstOffset)
		w.noTags()
	}
}

// records writes the length of the records and puts the chunk behind it.
func (w *FetchWriter) records(c engines.Chunk) {
	var length int64
	if c != nil {
		length = c.Len()
	}
	if w.version >= fetchFlexible {
		w.uvarint(uint64(length) + 1)
	} else {
		w.int32(int32(length))
	}
	if c != nil {
		w.r.splices = append(w.r.splices, splice{at: len(w.r.buf), chunk: c})
	}
}

// Tags and sizes of the tagged fields of a partition. The fields have no tags
// of their own.
const (
	tagDivergingEpoch  = 0
	sizeDivergingEpoch = 4 + 8 + 1
	tagCurrentLeader   = 1
	sizeCurrentLeader  = 4 + 4 + 1
	tagNodeEndpoints   = 0
)

func (w *FetchWriter) partitionTags(p *FetchPartition) {
	var count byte
	if p.DivergingEpoch != nil {
		count++
	}
	if p.CurrentLeader != nil {
		count++
	}
	w.r.buf = append(w.r.buf, count)
	if d := p.DivergingEpoch; d != nil {
		w.r.buf = append(w.r.buf, tagDivergingEpoch, sizeDivergingEpoch)
		w.int32(d.Epoch)
		w.int64(d.EndOffset)
		w.noTags()
	}
	if l := p.CurrentLeader; l != nil {
		w.r.buf = append(w.r.buf, tagCurrentLeader, sizeCurrentLeader)
		w.int32(l.LeaderID)
		w.int32(l.LeaderEpoch)
		w.noTags()
	}
}

// Finish ends the response. The endpoints are sent from version 16 on.
func (w *FetchWriter) Finish(endpoints []NodeEndpoint) *Response {
	invariant.Check(w.topics == 0, "%d topics fewer than announced", w.topics)
	w.endTopic()
	if w.version >= fetchEndpoints && len(endpoints) > 0 {
		w.endpoints(endpoints)
	} else {
		w.noTags()
	}
	r := w.r
	*w = FetchWriter{}
	r.seal()
	return r
}

func (w *FetchWriter) endpoints(list []NodeEndpoint) {
	size := sizeUvarint(uint64(len(list)) + 1)
	for i := range list {
		e := &list[i]
		size += 4 + sizeString(e.Host) + 4 + 1 // node id, host, port, tags
		if e.Rack != nil {
			size += sizeString(*e.Rack)
		} else {
			size++
		}
	}
	w.r.buf = append(w.r.buf, 1, tagNodeEndpoints)
	w.uvarint(uint64(size))
	w.arrayLength(len(list))
	for i := range list {
		e := &list[i]
		w.int32(e.NodeID)
		w.string(e.Host)
		w.int32(e.Port)
		if e.Rack != nil {
			w.string(*e.Rack)
		} else {
			w.uvarint(0)
		}
		w.noTags()
	}
}

func (w *FetchWriter) int16(v int16) { w.r.buf = binary.BigEndian.AppendUint16(w.r.buf, uint16(v)) }
func (w *FetchWriter) int32(v int32) { w.r.buf = binary.BigEndian.AppendUint32(w.r.buf, uint32(v)) }
func (w *FetchWriter) int64(v int64) { w.r.buf = binary.BigEndian.AppendUint64(w.r.buf, uint64(v)) }

func (w *FetchWriter) uvarint(v uint64) { w.r.buf = binary.AppendUvarint(w.r.buf, v) }

func (w *FetchWriter) arrayLength(n int) {
	if w.version >= fetchFlexible {
		w.uvarint(uint64(n) + 1)
	} else {
		w.int32(int32(n))
	}
}

func (w *FetchWriter) nullArray() {
	if w.version >= fetchFlexible {
		w.uvarint(0)
	} else {
		w.int32(-1)
	}
}

func (w *FetchWriter) string(s string) {
	if w.version >= fetchFlexible {
		w.uvarint(uint64(len(s)) + 1)
	} else {
		w.int16(int16(len(s)))
	}
	w.r.buf = append(w.r.buf, s...)
}

// noTags writes that a structure has no tagged fields, where it could have some.
func (w *FetchWriter) noTags() {
	if w.version >= fetchFlexible {
		w.r.buf = append(w.r.buf, 0)
	}
}

func sizeString(s string) int { return sizeUvarint(uint64(len(s))+1) + len(s) }

func sizeUvarint(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}
