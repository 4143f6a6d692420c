package workload

import (
	"strconv"
	"strings"
	"time"

	"tidemark/internal/invariant"
)

// Load is a cell's config with types: everything a driver and the generator
// need. It is immutable.
type Load struct {
	Driver, Target, Bootstrap string

	RecordBytes int
	Entropy     float64
	Partitions  int
	Producers   int
	Consumers   int
	Rate        Rate
	Arrival     string
	Tail        bool
	// Brokers is how many a target of its own has, Replicas how many of them hold
	// a partition.
	Brokers, Replicas int
	// Mesh puts a proxy mesh between the brokers; FollowerRate bounds what reaches
	// the last follower, the zero Rate does not.
	Mesh         bool
	FollowerRate Rate

	WarmUp, Window, Fetch, Interval, Drain time.Duration
	Bytes                                  int64
	// MemoryPresent says that what the log will take is made present beforehand.
	MemoryPresent bool

	Acks          int16 // 0, 1 or -1
	Compression   string
	BatchBytes    int
	BatchRecords  int
	Linger        time.Duration
	InFlight      int
	Idempotent    bool
	FetchMaxBytes int
	// Transaction is how long one lasts, 0 for none.
	Transaction time.Duration

	// Topic and Broker are Kafka's properties, without a section in front.
	Topic  map[string]string
	Broker map[string]string
}

// newLoad reads a checked config; a value that does not parse is our bug.
func newLoad(config map[string]string) Load {
	l := Load{Topic: map[string]string{}, Broker: map[string]string{}}
	for name, value := range config {
		if rest, ok := strings.CutPrefix(name, "broker."); ok {
			l.Broker[rest] = value
		} else if rest, ok := strings.CutPrefix(name, "topic."); ok {
			l.Topic[rest] = value
		} else if find(name) == nil {
			l.Topic[name] = value
		}
	}
	get := func(name string) string { return config[name] }
	l.Driver, l.Target, l.Bootstrap = get("driver"), get("target"), get("bootstrap")
	l.RecordBytes = int(mustSize(get("record.size")))
	l.Entropy = must(strconv.ParseFloat(get("entropy"), 64))
	l.Partitions = mustInt(get("partitions"))
	l.Producers, l.Consumers = mustInt(get("producers")), mustInt(get("consumers"))
	l.Rate = must(ParseRate(get("rate")))
	l.Arrival = get("arrival")
	l.Tail = get("tail") == "true"
	l.Brokers, l.Replicas = mustInt(get("brokers")), mustInt(get("replication.factor"))
	l.Mesh, l.FollowerRate = get("mesh") == "true", must(ParseRate(get("follower.rate")))
	l.WarmUp, l.Window = must(time.ParseDuration(get("warmup"))), must(time.ParseDuration(get("window")))
	l.Fetch, l.Interval = must(time.ParseDuration(get("fetch"))), must(time.ParseDuration(get("interval")))
	l.Drain = must(time.ParseDuration(get("drain")))
	l.Bytes = mustSize(get("bytes"))
	l.MemoryPresent = get("memory.present") == "true"
	l.Compression = get("compression.type")
	l.BatchBytes = int(mustSize(get("batch.size")))
	l.BatchRecords = mustInt(get("batch.records"))
	l.Linger = time.Duration(mustInt(get("linger.ms"))) * time.Millisecond
	l.InFlight = mustInt(get("max.in.flight.requests.per.connection"))
	l.Idempotent = get("enable.idempotence") == "true"
	l.Transaction = time.Duration(mustInt(get("transaction.duration.ms"))) * time.Millisecond
	l.FetchMaxBytes = int(mustSize(get("fetch.max.bytes")))
	switch get("acks") {
	case "0":
		l.Acks = 0
	case "1":
		l.Acks = 1
	default:
		l.Acks = -1
	}
	return l
}

func must[T any](v T, err error) T {
	invariant.Check(err == nil, "checked setting does not parse: %v", err)
	return v
}

func mustSize(s string) int64 { return must(ParseSize(s)) }

func mustInt(s string) int { return int(must(strconv.ParseInt(s, 10, 32))) }
