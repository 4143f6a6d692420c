package sim

import (
	"tidemark/internal/trace"
	"tidemark/replication"
)

// jobKind says what a job is: a timer, a message, or a deed of the harness.
type jobKind uint8

const (
	// Timers of a broker's process; they die with it.
	tickTimer jobKind = iota + 1
	pingTimer
	fetchTimer      // send the standing fetch again
	parkTimer       // a parked fetch has waited long enough
	flushTimer      // an fsync ended
	proposalTimer   // no answer to a proposal
	controllerTimer // the controller sends again what nobody confirmed
	electTimer      // try to become controller
	operationTimer  // an operation at ZooKeeper got no answer
	resignTimer     // the controller learns that its session is gone
	shutdownTimer   // a controlled shutdown gives up waiting
	startTimer      // the process starts

	// Messages between brokers.
	fetchRequest
	fetchResponse
	leaderAndISR
	leaderAndISRAnswer
	alterPartition
	alterPartitionAnswer
	fenceReplica
	fenceReplicaAnswer
	controlledShutdown
	updateMetadata

	// Messages to and from ZooKeeper.
	zkConnect
	zkConnected
	zkRequest
	zkAnswer
	zkWatch

	// Messages of clients.
	produceRequest
	produceAnswer
	consumeRequest
	consumeAnswer
	metadataRequest
	metadataAnswer

	// Timers of clients, of ZooKeeper and of the harness.
	produceTimer
	produceTimeout
	consumeTimer
	sessionTimer
	faultTimer
	endFaultTimer
	chaseTimer
	scriptTimer
	writebackTimer
)

// job is something yet to happen: one flat struct for all kinds, so that none is
// allocated twice. Which fields have a meaning depends on kind.
type job struct {
	kind     jobKind
	to, from endpoint
	// life is the life of the process a timer belongs to; 0 for messages.
	life uint32
	// asker is the life of the process that asked: its answer is for no other.
	asker uint32
	// link is the generation of the connection a message travels on.
	link uint32
	// correlation joins an answer to its question.
	correlation uint32
	operation   zkOperation
	outcome     outcome
	failure     replication.Failure
	refusal     replication.Refusal
	yes         bool
	acks        int8

	epoch, recordEpoch, controllerEpoch, version int32
	brokerEpoch, cleanEpoch, session             int64
	offset, end, highWatermark, logEnd           int64
	dir                                          replication.DirID

	value   uint32
	index   int32
	cause   trace.ID
	state   *partitionState
	view    *clusterView
	members []replication.Member
	entries []entry
}

// endpoint is one end of links: a broker, ZooKeeper or a client.
type endpoint int8

const (
	maxBrokers  = 5
	zkEnd       = endpoint(maxBrokers)
	firstClient = zkEnd + 1
	maxClients  = 6
	endpoints   = maxBrokers + 1 + maxClients
	harness     = endpoint(-1)
)

func (e endpoint) isBroker() bool { return e >= 0 && e < maxBrokers }

// id is the broker id of a broker's endpoint.
func (e endpoint) id() int32 { return int32(e) + 1 }

// endOf is the endpoint of a broker id.
func endOf(broker int32) endpoint { return endpoint(broker - 1) }
