package driver

import (
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// The raw driver writes two request versions by hand and reads their answers at
// fixed positions. Both have no flexible fields, and every broker from 2.1 to
// 4.x serves them.
const (
	produceKey, produceVersion = 0, 7
	fetchKey, fetchVersion     = 1, 11
	clientID                   = "tidemark-bench"
)

// Positions in a produce request frame (size prefix included):
//
//	0     4     6     8              12        14 …
//	size  key   ver   correlation id client id  transactional id(−1) acks timeout topics(1) topic partitions(1) index size | batch
const atCorrelation = 8

var big = binary.BigEndian

// produceHeader returns everything of a produce request but the batch, and where
// the partition index is in it. The frame size and the batch size are the last
// things to set, by setProduce.
func produceHeader(topic string, acks int16) []byte {
	b := make([]byte, 4, 64+len(topic))
	b = big.AppendUint16(b, produceKey)
	b = big.AppendUint16(b, produceVersion)
	b = big.AppendUint32(b, 0)
	b = appendString(b, clientID)
	b = big.AppendUint16(b, 0xffff) // no transactional id
	b = big.AppendUint16(b, uint16(acks))
	b = big.AppendUint32(b, 30_000) // timeout
	b = big.AppendUint32(b, 1)
	b = appendString(b, topic)
	b = big.AppendUint32(b, 1)
	b = big.AppendUint32(b, 0) // partition
	return big.AppendUint32(b, 0)
}

// setProduce patches a header for one send.
func setProduce(header []byte, correlation int32, partition int32, batchBytes int) {
	n := len(header)
	big.PutUint32(header, uint32(n-4+batchBytes))
	big.PutUint32(header[atCorrelation:], uint32(correlation))
	big.PutUint32(header[n-8:], uint32(partition))
	big.PutUint32(header[n-4:], uint32(batchBytes))
}

// produceAnswer is where things are in the answer to a produce request with one
// partition, size prefix included.
type produceAnswer struct{ size, atPartition, atError, atOffset int }

func newProduceAnswer(topic string) produceAnswer {
	at := 4 + 4 + 4 + 2 + len(topic) + 4
	return produceAnswer{size: at + 4 + 2 + 8 + 8 + 8 + 4, atPartition: at, atError: at + 4, atOffset: at + 6}
}

// parse reads one answer and checks that it is the expected one.
func (a produceAnswer) parse(b []byte, correlation int32) (offset int64, err error) {
	if got := int(big.Uint32(b)) + 4; got != a.size {
		return 0, fmt.Errorf("produce answer of %d bytes, want %d", got, a.size)
	}
	if got := int32(big.Uint32(b[4:])); got != correlation {
		return 0, fmt.Errorf("produce answer %d out of order, want %d", got, correlation)
	}
	if code := int16(big.Uint16(b[a.atError:])); code != 0 {
		return 0, kerr.ErrorForCode(code)
	}
	return int64(big.Uint64(b[a.atOffset:])), nil
}

// fetchRequest returns a whole fetch request for one partition, without session.
func fetchRequest(topic string, maxWaitMs, maxBytes int32) []byte {
	b := make([]byte, 4, 128+len(topic))
	b = big.AppendUint16(b, fetchKey)
	b = big.AppendUint16(b, fetchVersion)
	b = big.AppendUint32(b, 0)
	b = appendString(b, clientID)
	b = big.AppendUint32(b, 0xffffffff) // replica
	b = big.AppendUint32(b, uint32(maxWaitMs))
	b = big.AppendUint32(b, 1) // min bytes
	b = big.AppendUint32(b, uint32(maxBytes))
	b = append(b, 0)                    // read uncommitted
	b = big.AppendUint32(b, 0)          // session id
	b = big.AppendUint32(b, 0xffffffff) // session epoch: none
	b = big.AppendUint32(b, 1)
	b = appendString(b, topic)
	b = big.AppendUint32(b, 1)
	b = append(b, make([]byte, fetchPartitionBytes)...)
	b = big.AppendUint32(b, 0) // forgotten topics
	b = appendString(b, "")    // rack
	big.PutUint32(b, uint32(len(b)-4))
	part := b[len(b)-fetchTailBytes:]
	big.PutUint32(part[4:], 0xffffffff) // current leader epoch
	big.PutUint64(part[16:], ^uint64(0))
	big.PutUint32(part[24:], uint32(maxBytes))
	return b
}

const (
	fetchPartitionBytes = 4 + 4 + 8 + 8 + 4 // index, leader epoch, offset, log start offset, max bytes
	fetchTailBytes      = fetchPartitionBytes + 4 + 2
)

func setFetch(request []byte, correlation, partition int32, offset int64) {
	big.PutUint32(request[atCorrelation:], uint32(correlation))
	part := request[len(request)-fetchTailBytes:]
	big.PutUint32(part, uint32(partition))
	big.PutUint64(part[8:], uint64(offset))
}

// fetchAnswer is where things are in the answer to a fetch of one partition,
// which begins with a fixed header; the records follow it and end the frame.
type fetchAnswer struct{ header, atPartition int }

func newFetchAnswer(topic string) fetchAnswer {
	at := 4 + 4 + 4 + 2 + 4 + 4 + 2 + len(topic) + 4
	return fetchAnswer{header: at + 4 + 2 + 8 + 8 + 8 + 4 + 4 + 4, atPartition: at}
}

// parse reads the fixed header and returns the high watermark and how many
// bytes of records follow.
func (a fetchAnswer) parse(b []byte, correlation int32) (highWatermark int64, records int, err error) {
	if got := int32(big.Uint32(b[4:])); got != correlation {
		return 0, 0, fmt.Errorf("fetch answer %d out of order, want %d", got, correlation)
	}
	if code := int16(big.Uint16(b[12:])); code != 0 {
		return 0, 0, kerr.ErrorForCode(code)
	}
	part := b[a.atPartition:]
	if code := int16(big.Uint16(part[4:])); code != 0 {
		return 0, 0, kerr.ErrorForCode(code)
	}
	if aborted := int32(big.Uint32(part[30:])); aborted > 0 {
		return 0, 0, fmt.Errorf("fetch answer lists %d aborted transactions, want none", aborted)
	}
	records = max(0, int(int32(big.Uint32(part[38:]))))
	if got, want := int(big.Uint32(b))+4, a.header+records; got != want {
		return 0, 0, fmt.Errorf("fetch answer of %d bytes, want %d", got, want)
	}
	return int64(big.Uint64(part[6:])), records, nil
}

func appendString(b []byte, s string) []byte {
	b = big.AppendUint16(b, uint16(len(s)))
	return append(b, s...)
}
