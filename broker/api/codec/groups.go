// Package codec turns the records of coordinators into Kafka's own formats of the
// internal topics and back, so that coordinators know no wire structures and
// Kafka's tools read our files (GroupMetadataManager, kafka-dump-log
// --offsets-decoder). A key begins with the version that says what it is, a value
// with the version of its layout:
//
//	key  0, 1   OffsetCommitKey    value 0 to 4   OffsetCommitValue
//	key  2      GroupMetadataKey   value 0 to 4   GroupMetadataValue
//	key  3 to 8 ConsumerGroup…Key  value 0        those of KIP-848 (consumers.go)
//
// A null value is a tombstone. Every version is read. Written are an offset's
// version 3, 1 where the client said when it expires, 4 where its topic's id is
// known; and a group's version 3.
package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/coordinator/group"
	"tidemark/internal/invariant"
)

// ErrMalformed is the error of bytes that are not of the format that they claim.
var ErrMalformed = errors.New("malformed coordinator record")

// Groups is the codec of __consumer_offsets. It implements
// shard.Codec[group.Record].
type Groups struct{}

// The versions of keys, and the greatest of values.
const (
	offsetKey       = 1 // 0 is read too
	groupKey        = 2
	maxOffsetValue  = 4
	maxGroupValue   = 4
	plainOffset     = 3
	expiringOffset  = 1
	offsetOfTopicID = 4
	writtenGroup    = 3
)

// Encode returns fresh memory; value is nil for a tombstone.
func (Groups) Encode(r group.Record) (key, value []byte) {
	switch r := r.(type) {
	case *group.OffsetRecord:
		k := kmsg.OffsetCommitKey{Version: offsetKey, Group: r.Group, Topic: r.Topic, Partition: r.Partition}
		if !r.Tombstone {
			value = offsetValue(r)
		}
		return k.AppendTo(nil), value
	case *group.GroupRecord:
		k := kmsg.GroupMetadataKey{Version: groupKey, Group: r.Group}
		if !r.Tombstone {
			value = groupValue(r)
		}
		return k.AppendTo(nil), value
	}
	key, value = encodeConsumer(r)
	invariant.Check(key != nil, "no format for a record of type %T", r)
	return key, value
}

func offsetValue(r *group.OffsetRecord) []byte {
	v := kmsg.OffsetCommitValue{
		Version: plainOffset, Offset: r.Offset, LeaderEpoch: r.LeaderEpoch, Metadata: r.Metadata,
		CommitTimestamp: r.CommitTimestampMs, ExpireTimestamp: r.ExpireTimestampMs, TopicID: r.TopicID,
	}
	switch {
	case r.ExpireTimestampMs >= 0:
		v.Version = expiringOffset
	case r.TopicID != [16]byte{}:
		v.Version = offsetOfTopicID
	}
	return v.AppendTo(nil)
}

func groupValue(r *group.GroupRecord) []byte {
	v := kmsg.GroupMetadataValue{
		Version: writtenGroup, ProtocolType: r.ProtocolType, Generation: r.Generation,
		Protocol: nullable(r.Protocol), Leader: nullable(r.Leader), CurrentStateTimestamp: r.TimestampMs,
	}
	for i := range r.Members {
		m := &r.Members[i]
		v.Members = append(v.Members, kmsg.GroupMetadataValueMember{
			MemberID: m.Member, InstanceID: nullable(m.InstanceID), ClientID: m.ClientID, ClientHost: m.ClientHost,
			RebalanceTimeoutMillis: m.RebalanceTimeoutMs, SessionTimeoutMillis: m.SessionTimeoutMs,
			Subscription: m.Subscription, Assignment: m.Assignment,
		})
	}
	return v.AppendTo(nil)
}

// Decode copies what it keeps. ok is false for keys of other kinds, such as those
// of share groups; the error is ErrMalformed.
func (Groups) Decode(key, value []byte) (r group.Record, ok bool, err error) {
	version, err := versionOf("key", key)
	if err != nil {
		return nil, false, err
	}
	switch version {
	case 0, offsetKey:
		r, err = decodeOffset(key, value)
	case groupKey:
		r, err = decodeGroup(key, value)
	case consumerGroupKey, consumerMemberKey, targetEpochKey, targetKey, currentKey:
		r, err = decodeConsumer(version, key, value)
	default:
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return r, true, nil
}

// versionOf reads the version that a key or a value begins with.
func versionOf(what string, b []byte) (int16, error) {
	if len(b) < 2 {
		return 0, fmt.Errorf("%w: %s of %d bytes", ErrMalformed, what, len(b))
	}
	return int16(binary.BigEndian.Uint16(b)), nil
}

// valueVersion checks that a value's layout is known.
func valueVersion(what string, value []byte, most int16) (int16, error) {
	version, err := versionOf(what, value)
	if err == nil && (version < 0 || version > most) {
		err = fmt.Errorf("%w: %s of version %d, known are 0 to %d", ErrMalformed, what, version, most)
	}
	return version, err
}

func decodeOffset(key, value []byte) (*group.OffsetRecord, error) {
	var k kmsg.OffsetCommitKey
	if err := k.ReadFrom(key); err != nil {
		return nil, fmt.Errorf("%w: key of an offset: %w", ErrMalformed, err)
	}
	r := &group.OffsetRecord{Group: k.Group, TopicPartition: group.TopicPartition{Topic: k.Topic, Partition: k.Partition}}
	if value == nil {
		r.Tombstone = true
		return r, nil
	}
	version, err := valueVersion("offset", value, maxOffsetValue)
	if err != nil {
		return nil, err
	}
	var v kmsg.OffsetCommitValue
	if err := v.ReadFrom(value); err != nil {
		return nil, fmt.Errorf("%w: offset of version %d: %w", ErrMalformed, version, err)
	}
	r.Offset, r.Metadata, r.CommitTimestampMs, r.TopicID = v.Offset, v.Metadata, v.CommitTimestamp, v.TopicID
	r.LeaderEpoch, r.ExpireTimestampMs = -1, -1
	if version >= 3 {
		r.LeaderEpoch = v.LeaderEpoch
	}
	if version == expiringOffset {
		r.ExpireTimestampMs = max(v.ExpireTimestamp, -1)
	}
	return r, nil
}

func decodeGroup(key, value []byte) (*group.GroupRecord, error) {
	var k kmsg.GroupMetadataKey
	if err := k.ReadFrom(key); err != nil {
		return nil, fmt.Errorf("%w: key of a group: %w", ErrMalformed, err)
	}
	r := &group.GroupRecord{Group: k.Group}
	if value == nil {
		r.Tombstone = true
		return r, nil
	}
	version, err := valueVersion("group", value, maxGroupValue)
	if err != nil {
		return nil, err
	}
	v := kmsg.NewGroupMetadataValue()
	if err := v.ReadFrom(value); err != nil {
		return nil, fmt.Errorf("%w: group of version %d: %w", ErrMalformed, version, err)
	}
	r.ProtocolType, r.Generation, r.TimestampMs = v.ProtocolType, v.Generation, v.CurrentStateTimestamp
	r.Protocol, r.Leader = deref(v.Protocol), deref(v.Leader)
	for i := range v.Members {
		r.Members = append(r.Members, memberOf(&v.Members[i]))
	}
	return r, nil
}

// memberOf is a member; before version 1 its session timeout was its rebalance
// timeout too.
func memberOf(m *kmsg.GroupMetadataValueMember) group.MemberRecord {
	rebalance := m.RebalanceTimeoutMillis
	if rebalance < 0 {
		rebalance = m.SessionTimeoutMillis
	}
	return group.MemberRecord{
		Member: m.MemberID, InstanceID: deref(m.InstanceID), ClientID: m.ClientID, ClientHost: m.ClientHost,
		RebalanceTimeoutMs: rebalance, SessionTimeoutMs: m.SessionTimeoutMillis,
		Subscription: bytes.Clone(m.Subscription), Assignment: bytes.Clone(m.Assignment),
	}
}

// nullable is how an empty name is written.
func nullable(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Subscription reads the topics out of a consumer's metadata
// (ConsumerProtocolSubscription); ok is false for other bytes.
func Subscription(metadata []byte) (topics []string, ok bool) {
	v := kmsg.NewConsumerMemberMetadata()
	if err := v.ReadFrom(metadata); err != nil || v.Version < 0 {
		return nil, false
	}
	return v.Topics, true
}
