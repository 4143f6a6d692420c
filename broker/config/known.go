package config

// unserved are Kafka's broker names that this broker does not act upon, with
// what to know about it. They are accepted with a warning, so that a stock
// server.properties starts; a name whose neglect would be unsafe is in refused.
var unserved = merge(
	why("requests are handled on their connection's goroutine",
		"num.network.threads", "num.io.threads", "queued.max.requests", "background.threads",
		"num.replica.alter.log.dirs.threads", "socket.listen.backlog.size"),
	why("the assignors are uniform and range, and both protocols of groups are served", "group.consumer.assignors", "group.coordinator.rebalance.protocols"),
	why("a group has no settings of its own", "group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms",
		"group.consumer.min.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms", "group.consumer.migration.policy"),
	why("each partition that this broker coordinates has a goroutine", "group.coordinator.threads"),
	why("what coordinators write is always acks=all, and uncompressed",
		"offsets.commit.required.acks", "offsets.topic.compression.codec"),
	why("brokers use the one listener that there is, and one version of the protocol",
		"inter.broker.listener.name", "inter.broker.protocol.version", "security.inter.broker.protocol"),
	why("the kernel adapts it", "replica.socket.receive.buffer.bytes"),
	why("broker.id is given by hand", "reserved.broker.max.id", "broker.id.generation.enable"),
	why("metadata lives in ZooKeeper's layout, not in KRaft",
		"process.roles", "controller.quorum.voters", "controller.quorum.bootstrap.servers", "controller.listener.names",
		"metadata.log.dir", "metadata.log.max.record.bytes.between.snapshots", "metadata.log.segment.bytes",
		"metadata.max.retention.bytes", "metadata.max.retention.ms", "zookeeper.metadata.migration.enable"),
	why("batches are kept in format v2",
		"log.message.format.version", "log.message.downconversion.enable", "log.message.timestamp.difference.max.ms"),
	why("the append engine decides", "log.preallocate"),
	why("flush.ms is kept by a timer of each log", "log.flush.scheduler.interval.ms"),
	why("",
		"alter.config.policy.class.name", "create.topic.policy.class.name", "auto.include.jmx.reporter", "metric.reporters",
		"metrics.num.samples", "metrics.recording.level", "metrics.sample.window.ms", "kafka.metrics.reporters",
		"kafka.metrics.polling.interval.secs", "compression.level", "connections.max.reauth.ms",
		"connection.failed.authentication.delay.ms", "fetch.purgatory.purge.interval.requests",
		"producer.purgatory.purge.interval.requests", "delete.records.purgatory.purge.interval.requests",
		"max.connections.per.ip.overrides", "max.incremental.fetch.session.cache.slots", "max.request.partition.size.limit",
		"listener.security.protocol.map", "request.timeout.ms", "quota.window.num", "quota.window.size.seconds",
		"controller.quota.window.num", "controller.quota.window.size.seconds", "zookeeper.max.in.flight.requests",
		"zookeeper.set.acl", "log.dir.failure.timeout.ms", "telemetry.max.bytes", "unstable.api.versions.enable",
		"remote.log.storage.system.enable"),
)

// refused are names that a warning is not enough for: whoever sets them relies
// on them for safety.
var refused = merge(
	why("there is no authorization, so this setting cannot be honoured", "authorizer.class.name", "super.users", "allow.everyone.if.no.acl.found"),
	why("there is no authentication, so this setting cannot be honoured",
		"sasl.enabled.mechanisms", "sasl.mechanism.inter.broker.protocol", "sasl.jaas.config"),
	why("there is no TLS, so this setting cannot be honoured",
		"ssl.keystore.location", "ssl.keystore.password", "ssl.key.password", "ssl.truststore.location", "ssl.truststore.password",
		"ssl.client.auth", "ssl.keystore.type", "ssl.truststore.type", "ssl.keystore.key", "ssl.keystore.certificate.chain",
		"ssl.truststore.certificates"),
)

// unservedTopic are Kafka's topic names that are kept with a topic and have no
// effect.
var unservedTopic = merge(
	why("batches are kept in format v2", "message.downconversion.enable", "message.format.version", "message.timestamp.difference.max.ms"),
	why("the append engine decides", "preallocate"),
	why("", "remote.storage.enable", "local.retention.bytes", "local.retention.ms"),
)

func why(reason string, names ...string) map[string]string {
	m := make(map[string]string, len(names))
	for _, n := range names {
		m[n] = reason
	}
	return m
}

func merge(maps ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, m := range maps {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}
