package api

import (
	"encoding/binary"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/coordinator/group"
)

// What DescribeGroups has no field for stands in tagged fields of our own, from
// version 5 on, where the client calls itself OwnClientID. Others, who would skip
// them, do not get them.

// OwnClientID is the client id of the commands of this program.
const OwnClientID = "tidemark"

// detailTag is the number of both fields; Kafka counts its own from 0.
const detailTag = 10_000

// GroupDetail is what else there is to know about a group.
type GroupDetail struct {
	Generation int32
	// InState is how long the group has been in its state.
	InState time.Duration
	// Pending counts members that were given an id and did not come back yet.
	Pending int32
}

// MemberDetail is what else there is to know about a member.
type MemberDetail struct {
	// Joining and Syncing say that its request waits. In a rebalance the others are
	// those waited for.
	Joining, Syncing bool
	// Silent is how long nothing has been heard of it.
	Silent time.Duration
}

// The fields:
//
//	group    generation int32 | milliseconds in state int64 | pending int32
//	member   joining int8 | syncing int8 | milliseconds silent int64
const (
	groupDetailSize  = 16
	memberDetailSize = 10
)

func (d GroupDetail) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(d.Generation))
	b = binary.BigEndian.AppendUint64(b, uint64(d.InState.Milliseconds()))
	return binary.BigEndian.AppendUint32(b, uint32(d.Pending))
}

func (d MemberDetail) appendTo(b []byte) []byte {
	b = append(b, flag(d.Joining), flag(d.Syncing))
	return binary.BigEndian.AppendUint64(b, uint64(d.Silent.Milliseconds()))
}

func flag(set bool) byte {
	if set {
		return 1
	}
	return 0
}

// GroupDetailOf reads the field of a described group; ok is false without one.
func GroupDetailOf(g *kmsg.DescribeGroupsResponseGroup) (d GroupDetail, ok bool) {
	b := tagOf(&g.UnknownTags)
	if len(b) < groupDetailSize {
		return GroupDetail{}, false
	}
	return GroupDetail{
		Generation: int32(binary.BigEndian.Uint32(b)),
		InState:    time.Duration(binary.BigEndian.Uint64(b[4:])) * time.Millisecond,
		Pending:    int32(binary.BigEndian.Uint32(b[12:])),
	}, true
}

// MemberDetailOf reads the field of a described member; ok is false without one.
func MemberDetailOf(m *kmsg.DescribeGroupsResponseGroupMember) (d MemberDetail, ok bool) {
	b := tagOf(&m.UnknownTags)
	if len(b) < memberDetailSize {
		return MemberDetail{}, false
	}
	return MemberDetail{
		Joining: b[0] == 1, Syncing: b[1] == 1, Silent: time.Duration(binary.BigEndian.Uint64(b[2:])) * time.Millisecond,
	}, true
}

func tagOf(tags *kmsg.Tags) (value []byte) {
	tags.Each(func(key uint32, b []byte) {
		if key == detailTag {
			value = b
		}
	})
	return value
}

// addDetail puts the fields into a described group.
func addDetail(to *kmsg.DescribeGroupsResponseGroup, from *group.Description, now time.Time) {
	d := GroupDetail{Generation: from.Generation, InState: now.Sub(from.Since), Pending: int32(from.Pending)}
	to.UnknownTags.Set(detailTag, d.appendTo(nil))
	for i := range to.Members {
		m := &from.Members[i]
		d := MemberDetail{Joining: m.Joining, Syncing: m.Syncing, Silent: now.Sub(m.Heard)}
		to.Members[i].UnknownTags.Set(detailTag, d.appendTo(nil))
	}
}
