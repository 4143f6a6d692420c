package peer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/replication"
)

// The numbers of our tagged fields; doc.go has the table.
const (
	tagISR      = 10000
	tagELR      = 10001
	tagReplicas = 10002
	tagTopicID  = 10003

	tagMemberDir = tagISR
)

// ErrMalformed says that a message is not what its version promises; the peer
// and we do not speak the same language.
var ErrMalformed = errors.New("malformed message")

// Sizes of what the tagged fields hold.
const (
	dirSize    = 16
	standing   = 8 + dirSize  // broker epoch, dir
	memberSize = 4 + standing // broker before them
)

// tag returns the value of a tagged field, nil if it is not there.
func tag(tags *kmsg.Tags, number uint32) (value []byte) {
	tags.Each(func(n uint32, v []byte) {
		if n == number {
			value = v
		}
	})
	return value
}

// splitMembers returns the brokers of the members and, for the tagged field of
// that number, what more is known of them.
func splitMembers(tags *kmsg.Tags, number uint32, members []replication.Member) []int32 {
	ids := make([]int32, len(members))
	value := make([]byte, 0, len(members)*standing)
	known := false
	for i, m := range members {
		ids[i] = m.Broker
		value = appendStanding(value, m)
		known = known || m.BrokerEpoch != replication.NoBrokerEpoch || m.Dir != replication.DirID{}
	}
	if known {
		tags.Set(number, value)
	}
	return ids
}

// joinMembers is the reverse of splitMembers.
func joinMembers(tags *kmsg.Tags, number uint32, ids []int32) ([]replication.Member, error) {
	value := tag(tags, number)
	if value != nil && len(value) != len(ids)*standing {
		return nil, fmt.Errorf("%w: tag %d has %d bytes for %d members", ErrMalformed, number, len(value), len(ids))
	}
	members := make([]replication.Member, len(ids))
	for i, id := range ids {
		members[i] = replication.Member{Broker: id, BrokerEpoch: replication.NoBrokerEpoch}
		if value != nil {
			readStanding(value[i*standing:], &members[i])
		}
	}
	return members, nil
}

// setELR keeps the eligible leaders, of which Kafka's messages have nothing.
func setELR(tags *kmsg.Tags, elr []replication.Member) {
	if len(elr) == 0 {
		return
	}
	value := make([]byte, 0, len(elr)*memberSize)
	for _, m := range elr {
		value = binary.BigEndian.AppendUint32(value, uint32(m.Broker))
		value = appendStanding(value, m)
	}
	tags.Set(tagELR, value)
}

func getELR(tags *kmsg.Tags) ([]replication.Member, error) {
	value := tag(tags, tagELR)
	if len(value)%memberSize != 0 {
		return nil, fmt.Errorf("%w: eligible leaders of %d bytes", ErrMalformed, len(value))
	}
	elr := make([]replication.Member, 0, len(value)/memberSize)
	for m := range slices.Chunk(value, memberSize) {
		member := replication.Member{Broker: int32(binary.BigEndian.Uint32(m))}
		readStanding(m[4:], &member)
		elr = append(elr, member)
	}
	return elr, nil
}

func appendStanding(to []byte, m replication.Member) []byte {
	to = binary.BigEndian.AppendUint64(to, uint64(m.BrokerEpoch))
	return append(to, m.Dir[:]...)
}

func readStanding(from []byte, m *replication.Member) {
	m.BrokerEpoch = int64(binary.BigEndian.Uint64(from))
	copy(m.Dir[:], from[8:])
}

// setID keeps a 16-byte id that is not zero.
func setID(tags *kmsg.Tags, number uint32, id [16]byte) {
	if id != [16]byte{} {
		tags.Set(number, id[:])
	}
}

func getID(tags *kmsg.Tags, number uint32) (id [16]byte, err error) {
	value := tag(tags, number)
	if value != nil && copy(id[:], value) != len(value) || value != nil && len(value) != len(id) {
		return id, fmt.Errorf("%w: tag %d has %d bytes", ErrMalformed, number, len(value))
	}
	return id, nil
}
