package codec

import (
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"

	"tidemark/coordinator/group"
)

// The records of KIP-848, for which kmsg has no structures. A key is its version and
// one or two names:
//
//	0         2
//	+---------+----------+------------+
//	| version | group id | member id  |   strings with a length of 16 bits
//	+---------+----------+------------+
//
// Values are of version 0, flexible: compact lengths, tagged fields at the end of
// each structure (group-coordinator/src/main/resources/common/message).
const (
	consumerGroupKey  = 3 // ConsumerGroupMetadata: epoch int32, tag 0: metadata hash int64
	consumerMemberKey = 5 // ConsumerGroupMemberMetadata
	targetEpochKey    = 6 // ConsumerGroupTargetAssignmentMetadata: epoch int32
	targetKey         = 7 // ConsumerGroupTargetAssignmentMember: partitions
	currentKey        = 8 // ConsumerGroupCurrentMemberAssignment
	consumerValue     = 0
)

// consumerNames are the group and the member of a record, whether it has a member,
// and whether it is a tombstone.
func consumerNames(r group.Record) (version int16, names []string, tombstone bool) {
	switch r := r.(type) {
	case *group.ConsumerGroupRecord:
		return consumerGroupKey, []string{r.Group}, r.Tombstone
	case *group.ConsumerMemberRecord:
		return consumerMemberKey, []string{r.Group, r.Member}, r.Tombstone
	case *group.TargetEpochRecord:
		return targetEpochKey, []string{r.Group}, r.Tombstone
	case *group.TargetRecord:
		return targetKey, []string{r.Group, r.Member}, r.Tombstone
	case *group.CurrentRecord:
		return currentKey, []string{r.Group, r.Member}, r.Tombstone
	}
	return 0, nil, false
}

// encodeConsumer writes a record of KIP-848; key is nil for another one.
func encodeConsumer(r group.Record) (key, value []byte) {
	version, names, tombstone := consumerNames(r)
	if names == nil {
		return nil, nil
	}
	key = kbin.AppendInt16(nil, version)
	for _, name := range names {
		key = kbin.AppendString(key, name)
	}
	if tombstone {
		return key, nil
	}
	value = kbin.AppendInt16(nil, consumerValue)
	switch r := r.(type) {
	case *group.ConsumerGroupRecord:
		value = kbin.AppendInt32(value, r.Epoch)
		return key, appendHash(value, r.MetadataHash)
	case *group.ConsumerMemberRecord:
		value = appendMember(value, r)
	case *group.TargetEpochRecord:
		value = kbin.AppendInt32(value, r.Epoch)
	case *group.TargetRecord:
		value = appendPartitions(value, r.Partitions)
	case *group.CurrentRecord:
		value = kbin.AppendInt32(value, r.Epoch)
		value = kbin.AppendInt32(value, r.PreviousEpoch)
		value = kbin.AppendInt8(value, int8(r.State))
		value = appendPartitions(value, r.Assigned)
		value = appendPartitions(value, r.Revoking)
	}
	return key, kbin.AppendUvarint(value, 0) // no tagged fields
}

// appendHash ends a value with the one tagged field of a group.
func appendHash(b []byte, hash int64) []byte {
	if hash == 0 {
		return kbin.AppendUvarint(b, 0)
	}
	b = kbin.AppendUvarint(b, 1) // one field
	b = kbin.AppendUvarint(b, 0) // its number
	b = kbin.AppendUvarint(b, 8) // its size
	return kbin.AppendInt64(b, hash)
}

func appendMember(b []byte, r *group.ConsumerMemberRecord) []byte {
	b = kbin.AppendCompactNullableString(b, nullable(r.InstanceID))
	b = kbin.AppendCompactNullableString(b, nullable(r.RackID))
	b = kbin.AppendCompactString(b, r.ClientID)
	b = kbin.AppendCompactString(b, r.ClientHost)
	b = kbin.AppendCompactArrayLen(b, len(r.Topics))
	for _, t := range r.Topics {
		b = kbin.AppendCompactString(b, t)
	}
	b = kbin.AppendCompactString(b, r.Regex) // may be null, which Kafka too does not write
	b = kbin.AppendInt32(b, r.RebalanceTimeoutMs)
	return kbin.AppendCompactNullableString(b, nullable(r.Assignor))
}

func appendPartitions(b []byte, list []group.TopicPartitions) []byte {
	b = kbin.AppendCompactArrayLen(b, len(list))
	for _, t := range list {
		b = kbin.AppendUuid(b, t.TopicID)
		b = kbin.AppendCompactArrayLen(b, len(t.Partitions))
		for _, p := range t.Partitions {
			b = kbin.AppendInt32(b, p)
		}
		b = kbin.AppendUvarint(b, 0)
	}
	return b
}

// decodeConsumer reads a record of KIP-848.
func decodeConsumer(version int16, key, value []byte) (group.Record, error) {
	k := kbin.Reader{Src: key[2:]}
	id := k.String()
	var member string
	if version != consumerGroupKey && version != targetEpochKey {
		member = k.String()
	}
	if err := k.Complete(); err != nil {
		return nil, fmt.Errorf("%w: key of version %d: %w", ErrMalformed, version, err)
	}
	v := kbin.Reader{}
	if value != nil {
		if _, err := valueVersion("consumer record", value, consumerValue); err != nil {
			return nil, err
		}
		v.Src = value[2:]
	}
	gone := value == nil
	var r group.Record
	switch version {
	case consumerGroupKey:
		g := &group.ConsumerGroupRecord{Group: id, Tombstone: gone}
		if !gone {
			g.Epoch = v.Int32()
			g.MetadataHash = readHash(&v)
		}
		r = g
	case consumerMemberKey:
		m := &group.ConsumerMemberRecord{Group: id, Member: member, Tombstone: gone}
		if !gone {
			readMember(&v, m)
		}
		r = m
	case targetEpochKey:
		t := &group.TargetEpochRecord{Group: id, Tombstone: gone}
		if !gone {
			t.Epoch = v.Int32()
			skipTags(&v)
		}
		r = t
	case targetKey:
		t := &group.TargetRecord{Group: id, Member: member, Tombstone: gone}
		if !gone {
			t.Partitions = readPartitions(&v)
			skipTags(&v)
		}
		r = t
	case currentKey:
		c := &group.CurrentRecord{Group: id, Member: member, Tombstone: gone}
		if !gone {
			c.Epoch, c.PreviousEpoch, c.State = v.Int32(), v.Int32(), group.MemberState(v.Int8())
			c.Assigned, c.Revoking = readPartitions(&v), readPartitions(&v)
			skipTags(&v)
		}
		r = c
	}
	if err := v.Complete(); err != nil {
		return nil, fmt.Errorf("%w: value of key version %d: %w", ErrMalformed, version, err)
	}
	return r, nil
}

func readMember(v *kbin.Reader, m *group.ConsumerMemberRecord) {
	m.InstanceID, m.RackID = deref(v.CompactNullableString()), deref(v.CompactNullableString())
	m.ClientID, m.ClientHost = v.CompactString(), v.CompactString()
	for n := readLen(v, 1); n > 0; n-- {
		m.Topics = append(m.Topics, v.CompactString())
	}
	m.Regex = deref(v.CompactNullableString())
	m.RebalanceTimeoutMs = v.Int32()
	m.Assignor = deref(v.CompactNullableString())
	skipTags(v)
}

func readPartitions(v *kbin.Reader) (list []group.TopicPartitions) {
	for n := readLen(v, 16); n > 0; n-- {
		t := group.TopicPartitions{TopicID: v.Uuid()}
		for n := readLen(v, 4); n > 0; n-- {
			t.Partitions = append(t.Partitions, v.Int32())
		}
		skipTags(v)
		list = append(list, t)
	}
	return list
}

// readLen reads an array's length, of elements of at least size bytes; null counts
// as empty.
func readLen(v *kbin.Reader, size int) int {
	n := int(v.Uvarint()) - 1
	if n > len(v.Src)/size {
		_ = v.Span(len(v.Src) + 1) // makes the reader bad
		return 0
	}
	return n
}

// readHash reads the tagged fields of a group; skipTags, those of another structure.
func readHash(v *kbin.Reader) (hash int64) {
	eachTag(v, func(tag uint32, value []byte) {
		if tag == 0 && len(value) == 8 {
			hash = int64(binary.BigEndian.Uint64(value))
		}
	})
	return hash
}

func skipTags(v *kbin.Reader) { eachTag(v, func(uint32, []byte) {}) }

func eachTag(v *kbin.Reader, see func(tag uint32, value []byte)) {
	for n := v.Uvarint(); n > 0 && v.Ok(); n-- {
		tag := v.Uvarint()
		see(tag, v.Span(int(v.Uvarint())))
	}
}
