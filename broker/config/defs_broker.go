package config

import (
	"fmt"
	"time"
)

const noLimit = 1<<31 - 1

// brokerDefs are Kafka's names that only a broker has.
var brokerDefs = []Def{
	broker("broker.id", func(b *Broker) *int32 { return &b.BrokerID }, integer, "1",
		"Identity of this broker in its cluster; kept in meta.properties and never to change for a data directory. node.id is the same.",
		atLeast[int32](0), others(Other{"node.id", 1})),
	broker("broker.rack", func(b *Broker) *string { return &b.Rack }, text, "",
		"Rack (or zone) of this broker, told to clients.", nil),
	broker("listeners", func(b *Broker) *Listener { return &b.Listener }, listener, "PLAINTEXT://127.0.0.1:9092",
		"Address that clients connect to. Port 0 takes a free one and prints it. An address beyond loopback also needs listeners.allow.open, since there is no authentication yet.", nil),
	broker("advertised.listeners", func(b *Broker) *Listener { return &b.Advertised }, optionalListener, "",
		"Address told to clients, when it differs from listeners (behind a proxy or in a container).", nil),

	broker("zookeeper.connect", func(b *Broker) *[]string { return &b.ZookeeperConnect }, list, "",
		"Servers of the metadata store as host:port,host:port/chroot. Unset starts the embedded server on loopback, with its state in the zookeeper folder of the data directory.", nil),
	broker("zookeeper.session.timeout.ms", func(b *Broker) *time.Duration { return &b.ZookeeperSessionTimeout }, millis, "18000",
		"How long the metadata store waits for a silent broker before it counts as dead.", lasting(time.Millisecond)),
	broker("zookeeper.connection.timeout.ms", func(b *Broker) *time.Duration { return &b.ZookeeperConnectionTimeout }, millis, "18000",
		"How long a starting broker waits for the metadata store.", lasting(time.Millisecond)),

	broker("log.dirs", func(b *Broker) *[]string { return &b.LogDirs }, list, "tidemark-data",
		"Data directories, comma separated; relative ones are taken from where the broker is started. A new partition goes to the directory with the fewest.",
		[]rule[[]string]{{"at least one directory", func(v []string) bool { return len(v) > 0 }}},
		others(Other{"log.dir", 1})),
	broker("num.recovery.threads.per.data.dir", func(b *Broker) *int32 { return &b.RecoveryThreads }, integer, "0",
		"Logs of one directory that are opened at a time at start, and closed at the end; 0 means one per CPU for all directories together.", atLeast[int32](0)),
	broker("num.partitions", func(b *Broker) *int32 { return &b.NumPartitions }, integer, "1",
		"Partitions of a topic that is created without a number of them.", atLeast[int32](1)),
	broker("default.replication.factor", func(b *Broker) *int32 { return &b.DefaultReplicationFactor }, integer, "1",
		"Replication factor of a topic that is created without one.", atLeast[int32](1)),
	broker("auto.create.topics.enable", func(b *Broker) *bool { return &b.AutoCreateTopics }, boolean, "true",
		"Whether asking for the metadata of a topic that does not exist creates it.", nil),
	broker("delete.topic.enable", func(b *Broker) *bool { return &b.DeleteTopics }, boolean, "true",
		"Whether clients may delete topics.", nil),

	broker("log.retention.check.interval.ms", func(b *Broker) *time.Duration { return &b.RetentionCheckInterval }, millis, "300000",
		"How often logs are looked through for segments past their retention.", lasting(time.Millisecond)),
	broker("log.flush.offset.checkpoint.interval.ms", func(b *Broker) *time.Duration { return &b.RecoveryCheckpointInterval }, millis, "60000",
		"How often recovery-point-offset-checkpoint is written, which bounds the work of a start after a crash.", lasting(time.Millisecond)),
	broker("log.flush.start.offset.checkpoint.interval.ms", func(b *Broker) *time.Duration { return &b.LogStartCheckpointInterval }, millis, "60000",
		"How often log-start-offset-checkpoint is written.", lasting(time.Millisecond)),
	broker("replica.high.watermark.checkpoint.interval.ms", func(b *Broker) *time.Duration { return &b.HighWatermarkCheckpointInterval }, millis, "5000",
		"How often replication-offset-checkpoint is written.", lasting(time.Millisecond)),
	broker("producer.id.expiration.ms", func(b *Broker) *time.Duration { return &b.ProducerIDExpiration }, millis, "86400000",
		"How long an idle idempotent producer is remembered, by the broker's clock.", lasting(time.Millisecond)),
	broker("producer.id.expiration.check.interval.ms", func(b *Broker) *time.Duration { return &b.ProducerIDExpirationCheckInterval }, millis, "600000",
		"How often idle producers are looked for.", lasting(time.Millisecond)),

	broker("socket.request.max.bytes", func(b *Broker) *int32 { return &b.SocketRequestMaxBytes }, integer, "104857600",
		"Greatest request. A longer one closes the connection before anything is allocated.", atLeast[int32](1)),
	broker("socket.send.buffer.bytes", func(b *Broker) *int32 { return &b.SocketSendBufferBytes }, integer, "-1",
		"SO_SNDBUF of client connections; -1 leaves it to the kernel, which adapts it.", atLeast[int32](-1)),
	broker("socket.receive.buffer.bytes", func(b *Broker) *int32 { return &b.SocketReceiveBufferBytes }, integer, "-1",
		"SO_RCVBUF of client connections; -1 leaves it to the kernel, which adapts it.", atLeast[int32](-1)),
	broker("queued.max.request.bytes", func(b *Broker) *int64 { return &b.QueuedRequestBytes }, long, "268435456",
		"Memory for requests that have begun to arrive and are not answered, over all connections. Beyond it connections are not read from.", atLeast[int64](1<<20)),
	broker("max.connections", func(b *Broker) *int32 { return &b.MaxConnections }, integer, "4096",
		"Client connections at one time; a further one is closed at once.", atLeast[int32](1)),
	broker("max.connections.per.ip", func(b *Broker) *int32 { return &b.MaxConnectionsPerIP }, integer, "1024",
		"Client connections at one time from one address.", atLeast[int32](1)),
	broker("max.connection.creation.rate", func(b *Broker) *int32 { return &b.MaxConnectionRate }, integer, fmt.Sprint(noLimit),
		"New connections per second, with bursts of one second's worth; beyond it they wait to be accepted.", atLeast[int32](1)),
	broker("connections.max.idle.ms", func(b *Broker) *time.Duration { return &b.ConnectionsMaxIdle }, millis, "600000",
		"A connection without a request for this long is closed; -1 means never.", lasting(-time.Millisecond)),
	broker("fetch.max.bytes", func(b *Broker) *int32 { return &b.FetchMaxBytes }, integer, "57671680",
		"The broker's own bound of one fetch response; the first batch is always returned whole.", atLeast[int32](1024)),
}

var (
	listener = format[Listener]{List, ParseListener, Listener.String}

	optionalListener = format[Listener]{List, func(s string) (Listener, error) {
		if s == "" {
			return Listener{}, nil
		}
		return ParseListener(s)
	}, Listener.String}
)
