package peer

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/protocol/wire"
)

// fenceLanes is how many fences of one broker are under way at a time: each may
// wait for a disk.
const fenceLanes = 4

// call sends a request of kmsg's and reads the response.
func (p *Pool) call(ctx context.Context, broker int32, use purpose, req kmsg.Request, resp kmsg.Response) error {
	resp.SetVersion(req.GetVersion())
	return p.exchange(ctx, broker, use, p.o.ControlTimeout, exchange{
		request: nameOf(req),
		encode:  func(to []byte, correlation int32) []byte { return p.formatter.AppendRequest(to, req, correlation) },
		decode:  resp.ReadFrom,
	})
}

func (p *Pool) exchange(ctx context.Context, broker int32, use purpose, limit time.Duration, x exchange) error {
	l, err := p.lane(broker, use)
	if err != nil {
		return &CallError{Broker: broker, Request: x.request, Err: err}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, ErrNoAnswer)
	defer cancel()
	return l.do(ctx, x)
}

func nameOf(req kmsg.Request) string {
	if _, ours := req.(*FenceReplica); ours {
		return "FenceReplica"
	}
	return kmsg.NameForKey(req.Key())
}

// ask sends a request of kmsg's and decodes the response.
func ask[R kmsg.Response, A any](ctx context.Context, p *Pool, broker int32, use purpose, req kmsg.Request, resp R, decode func(R) (A, error)) (A, error) {
	if err := p.call(ctx, broker, use, req, resp); err != nil {
		var none A
		return none, err
	}
	return decode(resp)
}

// LeaderAndISR sends it to a replica's broker. It, StopReplica and UpdateMetadata
// of one broker share a connection.
func (p *Pool) LeaderAndISR(ctx context.Context, broker int32, r LeaderAndISR) (LeaderAndISRAnswer, error) {
	return ask(ctx, p, broker, purpose{kind: orders}, EncodeLeaderAndISR(r), kmsg.NewPtrLeaderAndISRResponse(), DecodeLeaderAndISRAnswer)
}

// StopReplica sends it to a replica's broker.
func (p *Pool) StopReplica(ctx context.Context, broker int32, r StopReplica) (StopReplicaAnswer, error) {
	return ask(ctx, p, broker, purpose{kind: orders}, EncodeStopReplica(r), kmsg.NewPtrStopReplicaResponse(), DecodeStopReplicaAnswer)
}

// UpdateMetadata sends it to a broker.
func (p *Pool) UpdateMetadata(ctx context.Context, broker int32, r UpdateMetadata) (UpdateMetadataAnswer, error) {
	return ask(ctx, p, broker, purpose{kind: orders}, EncodeUpdateMetadata(r), kmsg.NewPtrUpdateMetadataResponse(), DecodeUpdateMetadataAnswer)
}

// AlterPartition sends it to the controller's broker.
func (p *Pool) AlterPartition(ctx context.Context, broker int32, r AlterPartition) (AlterPartitionAnswer, error) {
	return ask(ctx, p, broker, purpose{kind: proposals}, EncodeAlterPartition(r), kmsg.NewPtrAlterPartitionResponse(), DecodeAlterPartitionAnswer)
}

// ControlledShutdown sends it to the controller's broker.
func (p *Pool) ControlledShutdown(ctx context.Context, broker int32, r ControlledShutdown) (ControlledShutdownAnswer, error) {
	return ask(ctx, p, broker, purpose{kind: asking}, EncodeControlledShutdown(r), kmsg.NewPtrControlledShutdownResponse(), DecodeControlledShutdownAnswer)
}

// FenceReplica sends it to a replica's broker.
func (p *Pool) FenceReplica(ctx context.Context, broker int32, r FenceReplica) (FenceReplicaAnswer, error) {
	var a FenceReplicaAnswer
	lane := (crc32.ChecksumIEEE([]byte(r.Topic)) + uint32(r.Index)) % fenceLanes
	err := p.call(ctx, broker, purpose{fences, int(lane)}, &r, &a)
	return a, err
}

// WriteTxnMarkers sends it to a leader's broker.
func (p *Pool) WriteTxnMarkers(ctx context.Context, broker int32, r WriteTxnMarkers) (WriteTxnMarkersAnswer, error) {
	return ask(ctx, p, broker, purpose{kind: markers}, EncodeWriteTxnMarkers(r), kmsg.NewPtrWriteTxnMarkersResponse(), DecodeWriteTxnMarkersAnswer)
}

// AddPartitionsToTxn sends it to a transaction coordinator's broker.
func (p *Pool) AddPartitionsToTxn(ctx context.Context, broker int32, r AddPartitionsToTxn) (AddPartitionsToTxnAnswer, error) {
	return ask(ctx, p, broker, purpose{kind: verifications}, EncodeAddPartitionsToTxn(r), kmsg.NewPtrAddPartitionsToTxnResponse(), DecodeAddPartitionsToTxnAnswer)
}

// Fetch fetches from the leader's broker, over the connection of that fetcher. took is
// called for each partition in the order of the response, as soon as all of it is here;
// the partition and its records are gone when it returns. After an error, which may be the
// leader's of the request as a whole, some partitions may have been told.
func (p *Pool) Fetch(ctx context.Context, leader int32, fetcher int, r FetchRequest, took func(*FetchedPartition)) error {
	in := incomings.Get().(*incoming)
	defer in.release()
	in.took = took
	err := p.exchange(ctx, leader, purpose{fetches, fetcher}, p.o.FetchTimeout, exchange{
		request: "Fetch", correlation: r.Correlation,
		encode: func(to []byte, correlation int32) []byte {
			return r.appendFrame(to, p.o.ClientID, correlation)
		},
		take: func(from io.Reader, correlation int32) error {
			return in.receive(from, p.o.MaxFrame, correlation)
		},
	})
	if err == nil && in.code != wire.None {
		err = fmt.Errorf("the leader answers %v", in.code)
	}
	return err
}
