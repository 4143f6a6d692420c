package peer

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/protocol/wire"
)

// ControlledShutdown is a broker's request to the controller to take leadership
// from it.
type ControlledShutdown struct {
	Broker      int32
	BrokerEpoch int64
}

// ControlledShutdownAnswer names what the broker still leads.
type ControlledShutdownAnswer struct {
	ErrorCode wire.ErrorCode
	Remaining []TopicPartition
}

const controlledShutdownVersion = 3

// EncodeControlledShutdown makes the request.
func EncodeControlledShutdown(r ControlledShutdown) *kmsg.ControlledShutdownRequest {
	req := kmsg.NewPtrControlledShutdownRequest()
	req.Version = controlledShutdownVersion
	req.BrokerID, req.BrokerEpoch = r.Broker, r.BrokerEpoch
	return req
}

// DecodeControlledShutdown reads the request.
func DecodeControlledShutdown(req *kmsg.ControlledShutdownRequest) (ControlledShutdown, error) {
	return ControlledShutdown{Broker: req.BrokerID, BrokerEpoch: req.BrokerEpoch}, nil
}

// EncodeControlledShutdownAnswer makes the response.
func EncodeControlledShutdownAnswer(a ControlledShutdownAnswer) *kmsg.ControlledShutdownResponse {
	resp := kmsg.NewPtrControlledShutdownResponse()
	resp.Version, resp.ErrorCode = controlledShutdownVersion, int16(a.ErrorCode)
	for _, p := range a.Remaining {
		remaining := kmsg.NewControlledShutdownResponsePartitionsRemaining()
		remaining.Topic, remaining.Partition = p.Topic, p.Index
		resp.PartitionsRemaining = append(resp.PartitionsRemaining, remaining)
	}
	return resp
}

// DecodeControlledShutdownAnswer reads the response.
func DecodeControlledShutdownAnswer(resp *kmsg.ControlledShutdownResponse) (ControlledShutdownAnswer, error) {
	a := ControlledShutdownAnswer{ErrorCode: wire.ErrorCode(resp.ErrorCode)}
	for _, p := range resp.PartitionsRemaining {
		a.Remaining = append(a.Remaining, TopicPartition{p.Topic, p.Partition})
	}
	return a, nil
}
