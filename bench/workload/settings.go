package workload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/nearest"
)

// Setting is one known property of a cell.
type Setting struct {
	// Section is workload or client.
	Section string
	// Name is Kafka's where Kafka has one.
	Name    string
	Default string
	Doc     string
	check   func(value string) error
}

// Settings is the one list of workload and client properties, in the order of
// the reference page. Topic and broker properties are Kafka's and the broker's.
var Settings = []Setting{
	{"workload", "driver", "raw", "what offers the load: raw (pre-encoded batches), franz (the real client), log (the log in this process), commits (offsets that groups commit, each producer one), null (nothing)", oneOf("raw", "franz", "log", "commits", "null")},
	{"workload", "target", "auto", "what takes it: process (a fresh broker), memory (a server that discards and serves from memory), external, inproc, none", oneOf("auto", "process", "memory", "external", "inproc", "none")},
	{"workload", "bootstrap", "", "address of an external broker", anything},
	{"workload", "record.size", "100B", "bytes of a record's value", sizeFrom(1)},
	{"workload", "entropy", "0.5", "share of random bytes in a value; the rest repeats", fraction},
	{"workload", "partitions", "8", "partitions of the topic", countFrom(1)},
	{"workload", "producers", "2", "producing connections", countFrom(1)},
	{"workload", "consumers", "2", "fetching connections", countFrom(1)},
	{"workload", "rate", "max", "records per second on an open-loop schedule, max, or 'N% of EXPERIMENT' (of its base cell)", rate},
	{"workload", "arrival", "uniform", "uniform, poisson, or burst(LENGTH@FACTORx/PERIOD)", anything},
	{"workload", "tail", "false", "whether consumers follow while records are produced (end-to-end latency)", boolean},
	{"workload", "warmup", "500ms", "time, or a quarter of the bytes, before the window", duration},
	{"workload", "window", "2s", "measured time", duration},
	{"workload", "fetch", "1s", "measured time of reading back from the start of the log, counted and not compared; 0s for none", duration},
	{"workload", "bytes", "2GiB", "bound of what one saturating run writes", sizeFrom(1)},
	{"workload", "memory.present", "false", "whether the memory that the log will take is made present before the load begins, for a virtual machine whose host takes free memory back; not for append engine direct, which takes none", boolean},
	{"workload", "interval", "250ms", "length of a row of series.csv", duration},
	{"workload", "drain", "20s", "deadline for outstanding work after the window", duration},
	{"workload", "brokers", "1", "broker processes of target process; two and more are a cluster with a metadata store of its own. The first ones hold the replicas, and the first of all leads where the strategy lets it", count(1, 100)},
	{"workload", "replication.factor", "1", "replicas of each partition, at most brokers", count(1, 100)},
	{"workload", "mesh", "false", "whether connections between brokers pass a proxy mesh, as those of a slow follower have to", boolean},
	{"workload", "follower.rate", "max", "records per second that each leader can send to the last follower, of all partitions: max, a number, or 'N% of EXPERIMENT' (of its base cell); needs mesh", rate},
	{"client", "acks", "1", "Kafka's acks", oneOf("0", "1", "all", "-1")},
	{"client", "compression.type", "none", "codec of the batches", oneOf("none", "gzip", "snappy", "lz4", "zstd")},
	{"client", "batch.size", "64KiB", "uncompressed bytes of a batch", sizeFrom(128)},
	{"client", "batch.records", "0", "records of a batch, overriding batch.size; 0 for none (raw and log; with commits the offsets of one, 0 for one of each partition)", countFrom(0)},
	{"client", "linger.ms", "0", "Kafka's linger.ms (franz)", countFrom(0)},
	{"client", "max.in.flight.requests.per.connection", "5", "requests outstanding on a connection", countFrom(1)},
	{"client", "enable.idempotence", "false", "Kafka's enable.idempotence (franz)", boolean},
	{"client", "transaction.duration.ms", "0", "how long a producer's transaction lasts, as in Kafka's producer-performance; 0 for none (franz, with enable.idempotence and acks=all)", countFrom(0)},
	{"client", "fetch.max.bytes", "1MiB", "bytes of one fetch response", sizeFrom(1)},
}

// later are settings that are younger than the ids of cells: at its default one is
// left out of the id, so that a cell keeps its own.
var later = []string{"brokers", "replication.factor", "mesh", "follower.rate", "transaction.duration.ms", "memory.present"}

// topicNames and brokerNames are properties of the other two sections that the
// broker honours; an unknown name close to one of them is taken for a typing
// error.
var topicNames = []string{"cleanup.policy", "compression.type", "compression.gzip.level", "compression.lz4.level", "compression.zstd.level",
	"file.delete.delay.ms", "flush.messages", "flush.ms", "index.interval.bytes", "max.message.bytes",
	"message.timestamp.type", "message.timestamp.before.max.ms", "message.timestamp.after.max.ms", "min.insync.replicas",
	"min.cleanable.dirty.ratio", "min.compaction.lag.ms", "max.compaction.lag.ms", "delete.retention.ms",
	"retention.bytes", "retention.ms", "segment.bytes", "segment.index.bytes", "segment.jitter.ms", "segment.ms",
	"replication.strategy", "unclean.leader.election.enable", "leader.replication.throttled.replicas", "follower.replication.throttled.replicas", "storage.append.engine", "storage.append.inplace", "storage.prefault", "storage.read.engine", "storage.flush", "storage.cache", "storage.validation"}

var brokerNames = []string{"queued.max.request.bytes", "queued.max.requests.per.connection", "socket.send.buffer.bytes",
	"socket.receive.buffer.bytes", "socket.request.max.bytes", "replica.lag.time.max.ms", "log.segment.bytes", "log.retention.bytes", "message.max.bytes", "offsets.storage",
	"storage.append.engine", "storage.read.engine", "storage.flush", "storage.cache", "storage.validation"}

func find(name string) *Setting {
	for i := range Settings {
		if Settings[i].Name == name {
			return &Settings[i]
		}
	}
	return nil
}

// resolve turns a name of an axis (bare, or with its section in front) into the
// key under which the cell's config holds it.
func resolve(name Text) (string, error) {
	section, rest, _ := strings.Cut(name.Value, ".")
	switch section {
	case "workload", "client", "topic", "broker":
		return key(section, Text{rest, name.token})
	}
	if s := find(name.Value); s != nil {
		return s.Name, nil
	}
	for _, n := range topicNames {
		if n == name.Value {
			return n, nil
		}
	}
	known := append(settingNames(), topicNames...)
	return "", errorAt(name.token, "unknown property %q%s (topic.NAME and broker.NAME reach any other)", name.Value, didYouMean(name.Value, known))
}

// key is the name of a section's property in a cell's config: bare, except for
// the broker's, and the topic's where the client has one of the same name.
func key(section string, name Text) (string, error) {
	var known []string
	switch section {
	case "topic":
		known = topicNames
	case "broker":
		known = brokerNames
	default:
		s := find(name.Value)
		if s != nil && s.Section == section {
			return s.Name, nil
		}
		if s != nil {
			return "", errorAt(name.token, "%s is a %s property, not a %s property", name.Value, s.Section, section)
		}
		return "", errorAt(name.token, "unknown %s property %q%s", section, name.Value, didYouMean(name.Value, settingNames()))
	}
	if hint := closeTo(name.Value, known); hint != "" {
		return "", errorAt(name.token, "unknown %s property %q%s", section, name.Value, hint)
	}
	if section == "broker" || find(name.Value) != nil {
		return section + "." + name.Value, nil
	}
	return name.Value, nil
}

// closeTo returns a suggestion when name is not known but nearly so.
func closeTo(name string, known []string) string {
	if slices.Contains(known, name) {
		return ""
	}
	return suggest(nearest.Name(name, known, 2))
}

func settingNames() []string {
	names := make([]string, len(Settings))
	for i, s := range Settings {
		names[i] = s.Name
	}
	return names
}

func anything(string) error { return nil }

func oneOf(values ...string) func(string) error {
	return func(v string) error {
		for _, known := range values {
			if v == known {
				return nil
			}
		}
		return fmt.Errorf("%q is not one of %s", v, strings.Join(values, ", "))
	}
}

func sizeFrom(least int64) func(string) error {
	return func(v string) error {
		n, err := ParseSize(v)
		if err == nil && n < least {
			err = fmt.Errorf("%q is less than %d", v, least)
		}
		return err
	}
}

func countFrom(least int64) func(string) error {
	return func(v string) error {
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil || n < least {
			return fmt.Errorf("%q is not a number of at least %d", v, least)
		}
		return nil
	}
}

func count(least, most int64) func(string) error {
	return func(v string) error {
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil || n < least || n > most {
			return fmt.Errorf("%q is not a number from %d to %d", v, least, most)
		}
		return nil
	}
}

func fraction(v string) error {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || !(f >= 0 && f <= 1) {
		return fmt.Errorf("%q is not a number from 0 to 1", v)
	}
	return nil
}

func boolean(v string) error { return oneOf("true", "false")(v) }

func duration(v string) error {
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 {
		return fmt.Errorf("%q is not a time such as 500ms or 2s", v)
	}
	return nil
}

func rate(v string) error {
	_, err := ParseRate(v)
	return err
}
