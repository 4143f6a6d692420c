package peer

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/protocol/wire"
)

// FenceReplica is the controller's request to a replica to follow no leader of an
// older epoch any more, and to say how far its log goes: by the answers a leader
// is elected where the longest log must lead. It is a kmsg.Request, so that it is
// framed as the others are:
//
//	topic (compact string) | topic id 16 | partition 4 | leader epoch 4 |
//	controller epoch 4 | broker epoch 8 | tags
type FenceReplica struct {
	Topic   string
	TopicID [16]byte
	Index   int32
	// LeaderEpoch is the fence: the epoch of the leader to be elected.
	LeaderEpoch     int32
	ControllerEpoch int32
	// BrokerEpoch is the registration of the broker it is meant for.
	BrokerEpoch int64
}

// FenceReplicaAnswer is the response, a kmsg.Response:
//
//	error code 2 | leader epoch 4 | last epoch 4 | log end offset 8 | dir 16 | tags
type FenceReplicaAnswer struct {
	ErrorCode wire.ErrorCode
	// LeaderEpoch is the fence that is in force, higher than the one asked for
	// where ErrorCode is FENCED_LEADER_EPOCH.
	LeaderEpoch int32
	// LastEpoch is the leader epoch of the last record, −1 of an empty log.
	LastEpoch    int32
	LogEndOffset int64
	// Dir is the log directory that the replica lies in.
	Dir [16]byte
}

// Key is the key of FenceReplica.
func (*FenceReplica) Key() int16 { return wire.KeyFenceReplica }

// MaxVersion is 0, the only version.
func (*FenceReplica) MaxVersion() int16 { return 0 }

// SetVersion does nothing.
func (*FenceReplica) SetVersion(int16) {}

// GetVersion is 0.
func (*FenceReplica) GetVersion() int16 { return 0 }

// IsFlexible is true.
func (*FenceReplica) IsFlexible() bool { return true }

// ResponseKind returns an empty FenceReplicaAnswer.
func (*FenceReplica) ResponseKind() kmsg.Response { return new(FenceReplicaAnswer) }

// AppendTo appends the encoded body.
func (f *FenceReplica) AppendTo(to []byte) []byte {
	to = appendString(to, f.Topic)
	to = append(to, f.TopicID[:]...)
	to = appendInt32(to, f.Index)
	to = appendInt32(to, f.LeaderEpoch)
	to = appendInt32(to, f.ControllerEpoch)
	to = appendInt64(to, f.BrokerEpoch)
	return append(to, 0)
}

// ReadFrom decodes a body; nothing of it is kept.
func (f *FenceReplica) ReadFrom(body []byte) error {
	r := wire.Reader{Src: body, Flexible: true}
	*f = FenceReplica{Topic: string(r.Text()), TopicID: r.UUID(), Index: r.Int32(), LeaderEpoch: r.Int32(), ControllerEpoch: r.Int32(), BrokerEpoch: r.Int64()}
	r.Tags(nil)
	if r.Bad {
		return fmt.Errorf("%w: FenceReplica", ErrMalformed)
	}
	return nil
}

// Key is the key of FenceReplica.
func (*FenceReplicaAnswer) Key() int16 { return wire.KeyFenceReplica }

// MaxVersion is 0, the only version.
func (*FenceReplicaAnswer) MaxVersion() int16 { return 0 }

// SetVersion does nothing.
func (*FenceReplicaAnswer) SetVersion(int16) {}

// GetVersion is 0.
func (*FenceReplicaAnswer) GetVersion() int16 { return 0 }

// IsFlexible is true.
func (*FenceReplicaAnswer) IsFlexible() bool { return true }

// RequestKind returns an empty FenceReplica.
func (*FenceReplicaAnswer) RequestKind() kmsg.Request { return new(FenceReplica) }

// AppendTo appends the encoded body.
func (a *FenceReplicaAnswer) AppendTo(to []byte) []byte {
	to = appendInt16(to, int16(a.ErrorCode))
	to = appendInt32(to, a.LeaderEpoch)
	to = appendInt32(to, a.LastEpoch)
	to = appendInt64(to, a.LogEndOffset)
	to = append(to, a.Dir[:]...)
	return append(to, 0)
}

// ReadFrom decodes a body; nothing of it is kept.
func (a *FenceReplicaAnswer) ReadFrom(body []byte) error {
	r := wire.Reader{Src: body, Flexible: true}
	*a = FenceReplicaAnswer{ErrorCode: wire.ErrorCode(r.Int16()), LeaderEpoch: r.Int32(), LastEpoch: r.Int32(), LogEndOffset: r.Int64(), Dir: r.UUID()}
	r.Tags(nil)
	if r.Bad {
		return fmt.Errorf("%w: answer to FenceReplica", ErrMalformed)
	}
	return nil
}
