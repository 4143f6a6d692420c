package config

import (
	"net"
	"time"

	"tidemark/internal/loopback"
)

// ownDefs are the names that Kafka does not have.
var ownDefs = []Def{
	topic("storage.append.engine", "storage.append.engine", func(t *Topic) *string { return &t.AppendEngine }, text, "buffered",
		"How bytes reach a segment file; `tidemark engines` lists the choices. A change takes effect with the next segment.",
		named("an append engine"), own),
	topic("storage.read.engine", "storage.read.engine", func(t *Topic) *string { return &t.ReadEngine }, text, "pread",
		"How bytes leave a segment file on their way to a client; `tidemark engines` lists the choices.",
		named("a read engine"), own),
	topic("storage.flush", "storage.flush", func(t *Topic) *string { return &t.Flush }, text, FlushOS,
		"When appended bytes are forced to disk: os leaves it to the system, flush.messages and flush.ms, as Kafka does; batch syncs once for each batch before it is acknowledged, as flush.messages=1 does; group syncs before it acknowledges too, once for all batches that came meanwhile.",
		oneOf(FlushOS, FlushBatch, FlushGroup), own),
	topic("storage.cache", "storage.cache", func(t *Topic) *string { return &t.Cache }, text, CacheKeep,
		"What becomes of written pages in the page cache: keep leaves them to the system; dropbehind starts their way to the disk 16 MiB at a time, drops what lies more than 64 MiB behind the end of the log, and reads ahead for those who fetch it later.",
		oneOf(CacheKeep, CacheDropBehind), own),
	topic("storage.validation", "storage.validation", func(t *Topic) *string { return &t.Validation }, text, ValidateRecords,
		"records decompresses each batch and checks every record, as Kafka does; header checks the batch header and checksum only, but for compacted topics, whose records must have keys.",
		oneOf(ValidateRecords, ValidateHeader), own),
	topic("storage.append.inplace", "storage.append.inplace", func(t *Topic) *bool { return &t.InPlace }, boolean, "true",
		"Whether the records of a produce request that has arrived whole are received straight where they will lie in the segment, if the append engine can lend that memory; mapped can.",
		nil, own),
	topic("storage.prefault", "storage.prefault", func(t *Topic) *bool { return &t.Prefault }, boolean, "true",
		"Whether append engines make pages present ahead of their use, mapped in the background and buffered a few at a time for small batches; only where storage.flush is os, as each sync would write them. A change takes effect with the next segment.",
		nil, own),

	broker("group.rebalance.timeout.rule", func(b *Broker) *string { return &b.Groups.TimeoutRule }, text, TimeoutRuleRebalance,
		"How long a rebalance waits for members to join again: rebalance is the largest rebalance timeout among them, as in Kafka; session is the largest session timeout, as it was before clients sent a rebalance timeout (KIP-62).",
		oneOf(TimeoutRuleRebalance, TimeoutRuleSession), own),
	broker("offsets.storage", func(b *Broker) *string { return &b.Groups.Storage }, text, OffsetsInKafka,
		"Where committed offsets are kept: kafka is __consumer_offsets; zookeeper is the layout of Kafka 0.8, a znode with a plain number for each, without metadata and leader epoch, and no transaction can commit offsets.",
		oneOf(OffsetsInKafka, OffsetsInZooKeeper), own),
	broker("listeners.allow.open", func(b *Broker) *bool { return &b.AllowOpenListener }, boolean, "false",
		"Permits an address beyond loopback although clients are not authenticated. The flag --allow-open-listener sets it.", nil, own),
	broker("metrics.listener", func(b *Broker) *string { return &b.MetricsListener }, text, "127.0.0.1:0",
		"Address of /metrics (Prometheus), /debug/pprof, /healthz and /readyz. Port 0 takes a free one and prints it; an empty value switches it off.", nil, own),
	broker("max.decompressed.message.bytes", func(b *Broker) *int64 { return &b.DecompressedBytes }, long, "16777216",
		"What one compressed batch may grow to when it is checked.", atLeast[int64](1024), own),
	broker("queued.max.requests.per.connection", func(b *Broker) *int32 { return &b.QueuedRequestsPerConnection }, integer, "64",
		"Requests of one connection that may wait for their responses; beyond it the connection is not read from.", atLeast[int32](1), own),
	broker("socket.bind.address", func(b *Broker) *string { return &b.BindAddress }, text, "",
		"IP address of this machine that connections to other brokers are made from; empty leaves it to the system. A mesh of proxies tells brokers apart by it.",
		[]rule[string]{{"empty or an IP address", func(v string) bool { return v == "" || net.ParseIP(v) != nil }}}, own),
	broker("socket.frame.timeout.ms", func(b *Broker) *time.Duration { return &b.FrameTimeout }, millis, "30000",
		"How long a request that has begun to arrive may take, plus a second per 256 KiB of it.", lasting(time.Millisecond), own),
	broker("socket.loopback.congestion.control", func(b *Broker) *string { return &b.LoopbackCongestion }, text, loopback.Unpaced,
		"TCP congestion control of connections within this machine, if the kernel has it: one that paces, as bbr does, has nothing to pace for there and costs much. Empty leaves them the system's; other connections always have that.", nil, own),
	broker("trace.dir", func(b *Broker) *string { return &b.TraceDir }, text, "",
		"Directory where the broker writes what happens inside it, to trace-<broker.id>.jsonl (docs/formats/trace.md); empty for none. `tidemark log trace` reads it. The flag --trace sets it.", nil, own),
	broker("socket.write.timeout.ms", func(b *Broker) *time.Duration { return &b.WriteTimeout }, millis, "30000",
		"How long a client may take to read a response, plus a second per 256 KiB of it.", lasting(time.Millisecond), own),
}
