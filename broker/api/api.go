// Package api answers Kafka requests: one file per API key, one table of them
// all (table.go), from which dispatch, ApiVersions and docs/reference/api-versions.md
// follow. It is Kafka's KafkaApis.
//
// A handler decodes, asks replica, metadata or the controller, and maps their
// errors to protocol codes in one place (errors.go). Produce and Fetch decode by
// hand, without allocating; the others use kmsg. No handler keeps a request's
// bytes after it answered, and none allocates by a count that a client claims.
//
// Not served: share groups, ACLs, quotas.
package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"

	"tidemark/broker/groups"
	"tidemark/broker/metadata"
	"tidemark/broker/network"
	"tidemark/broker/purgatory"
	"tidemark/broker/replica"
	"tidemark/broker/txns"
	"tidemark/coordinator/controller"
	"tidemark/coordinator/znode"
	"tidemark/internal/clock"
	"tidemark/protocol/wire"
)

// Controller changes topics and configurations; *controller.Controller is one.
type Controller interface {
	// IsController reports whether this broker holds the office.
	IsController() bool
	// CreateTopic creates a topic, or only checks that it could.
	CreateTopic(ctx context.Context, r controller.TopicRequest) (controller.TopicInfo, error)
	// DeleteTopic deletes the topic of that name.
	DeleteTopic(ctx context.Context, name string) error
	// DeleteTopicID deletes the topic with that id and returns its name.
	DeleteTopicID(ctx context.Context, id znode.TopicID) (name string, err error)
	// CreatePartitions grows a topic.
	CreatePartitions(ctx context.Context, r controller.PartitionsRequest) error
	// AlterConfig replaces an entity's dynamic configuration by what change
	// makes of it.
	AlterConfig(ctx context.Context, entity znode.EntityType, name string, change func(map[string]string) error) error
	// AlterPartition writes in-sync sets that their leader proposes.
	AlterPartition(ctx context.Context, broker int32, brokerEpoch int64, proposals []controller.Proposal) ([]controller.Outcome, error)
	// ControlledShutdown takes leadership from a broker that is to stop.
	ControlledShutdown(ctx context.Context, broker int32, brokerEpoch int64) (remaining []controller.TopicPartition, err error)
	// ElectLeaders holds elections.
	ElectLeaders(ctx context.Context, kind controller.ElectionType, partitions []controller.TopicPartition) ([]controller.ElectionResult, error)
	// AlterReassignments begins, replaces or cancels reassignments.
	AlterReassignments(ctx context.Context, r []controller.Reassignment) ([]error, error)
	// ListReassignments lists those under way.
	ListReassignments(ctx context.Context, partitions []controller.TopicPartition) ([]controller.Ongoing, error)
}

// Forwarder asks another broker; *peer.Pool is one.
type Forwarder interface {
	// CreateTopic has the controller create a topic with its defaults.
	CreateTopic(ctx context.Context, broker int32, topic string) (wire.ErrorCode, string, error)
}

// Options configure a Server. All fields are required.
type Options struct {
	BrokerID   int32
	ClusterID  string
	Configs    *Configs
	Replicas   *replica.Manager
	Metadata   *metadata.Cache
	Groups     *groups.Coordinator
	Txns       *txns.Coordinator
	Controller Controller
	// Orders carries out what the controller orders.
	Orders  *Orders
	Forward Forwarder
	Clock   clock.Clock
	Logger  *slog.Logger
}

// Server answers requests. It is safe for concurrent use.
type Server struct {
	o         Options
	table     []row
	purgatory *purgatory.Purgatory
	creations *creations
	// inPlace counts the batches that were received in place.
	inPlace atomic.Int64
}

// New returns a server that serves until Close.
func New(o Options) *Server {
	s := &Server{o: o, table: table, purgatory: purgatory.New(o.Clock)}
	if o.Replicas.Traced() {
		s.purgatory.Observe = observeWaiting
	}
	s.creations = newCreations(s)
	return s
}

// Parked is the number of requests that wait for records or replicas.
func (s *Server) Parked() int { return s.purgatory.Parked() }

// InPlaceBatches counts the batches whose records were received where they lie in
// the log; live.
func (s *Server) InPlaceBatches() *atomic.Int64 { return &s.inPlace }

// Close ends deadlines and the creation of topics in the background. The
// connections are to be closed before.
func (s *Server) Close() {
	s.creations.close()
	s.purgatory.Close()
}

// Handle answers one request; it implements network.Handler.
func (s *Server) Handle(r *network.Request) {
	s.serve(call{header: r.Header, body: r.Body, remote: r.Conn.Remote, to: request{r}})
}

// HandleEarly answers a produce request whose records can be received where they
// will lie; it implements network.EarlyHandler.
func (s *Server) HandleEarly(r *network.Request, rest *network.Rest) bool {
	return s.serveEarly(call{header: r.Header, body: r.Body, remote: r.Conn.Remote, to: request{r}}, rest)
}

// answerer is how a request is answered: exactly one call of one of the first
// four methods.
type answerer interface {
	Reply(*wire.Response)
	ReplyWith(func() *wire.Response)
	NoReply()
	Fail(error)
	// ReleaseBody gives the frame back before the answer.
	ReleaseBody()
	// OfferNext asks for the next request to be handed to serveEarly. It is
	// called before serve or serveEarly returns.
	OfferNext()
	// AfterClose calls f once the client is gone; stop prevents that.
	AfterClose(f func()) (stop func() bool)
}

// request is an answerer.
type request struct{ *network.Request }

// AfterClose is the connection's.
func (r request) AfterClose(f func()) (stop func() bool) { return r.Conn.AfterClose(f) }

// call is one request on its way through a handler.
type call struct {
	header wire.Header
	body   []byte // aliases the frame; gone once answered
	remote net.Addr
	to     answerer
}

// errUnsupported closes the connection, as Kafka does for a request whose
// response it cannot know how to write.
var errUnsupported = errors.New("unsupported request")

// serve finds the row and lets it answer.
func (s *Server) serve(c call) {
	row := rowFor(c.header.Key)
	switch {
	case row == nil:
		c.to.Fail(fmt.Errorf("%w: key %d", errUnsupported, c.header.Key))
	case c.header.Version >= row.min && c.header.Version <= row.max:
		row.handle(s, c)
	case c.header.Key == wire.KeyAPIVersions:
		answerUnknownVersion(c)
	default:
		c.to.Fail(fmt.Errorf("%w: %s version %d, served are %d to %d", errUnsupported, row.name, c.header.Version, row.min, row.max))
	}
}
