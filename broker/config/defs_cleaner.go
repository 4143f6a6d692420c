package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Cleaner is how compacted topics are cleaned.
type Cleaner struct {
	// Enabled is log.cleaner.enable, Threads log.cleaner.threads.
	Enabled bool
	Threads int32
	// DedupeBytes is log.cleaner.dedupe.buffer.size: the memory for keys of all
	// threads; Load is the part of it that is filled
	// (log.cleaner.io.buffer.load.factor).
	DedupeBytes int64
	Load        float64
	// BufferBytes is log.cleaner.io.buffer.size, of all threads.
	BufferBytes int32
	// BytesPerSecond is log.cleaner.io.max.bytes.per.second, read and written.
	BytesPerSecond float64
	// Backoff is log.cleaner.backoff.ms.
	Backoff time.Duration
}

// Compaction is a topic's part of it.
type Compaction struct {
	// DeleteRetentionMs is delete.retention.ms.
	DeleteRetentionMs int64
	// MinLagMs and MaxLagMs are min.compaction.lag.ms and max.compaction.lag.ms.
	MinLagMs, MaxLagMs int64
	// MinDirtyRatio is min.cleanable.dirty.ratio.
	MinDirtyRatio float64
}

// Double is Kafka's kind of a number that need not be whole.
const Double Kind = "DOUBLE"

var double = format[float64]{Double, parseDouble, func(v float64) string {
	return strings.ReplaceAll(strconv.FormatFloat(v, 'G', -1, 64), "E+", "E")
}}

func parseDouble(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || v != v {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return v, nil
}

// minDedupePerThread is Kafka's: with less, a round hardly gets anywhere.
const minDedupePerThread = 1 << 20

// cleanerDefs are the names of compaction.
var cleanerDefs = []Def{
	broker("log.cleaner.enable", func(b *Broker) *bool { return &b.Cleaner.Enabled }, boolean, "true",
		"Whether topics with cleanup.policy=compact are compacted; without it they only grow.", nil),
	broker("log.cleaner.threads", func(b *Broker) *int32 { return &b.Cleaner.Threads }, integer, "1",
		"Logs that are compacted at one time.", atLeast[int32](1)),
	broker("log.cleaner.dedupe.buffer.size", func(b *Broker) *int64 { return &b.Cleaner.DedupeBytes }, long, "134217728",
		"Memory for the keys of the logs being compacted, 24 bytes a key, split over the threads; taken when it is needed. At least 1 MiB a thread.", atLeast[int64](minDedupePerThread)),
	broker("log.cleaner.io.buffer.size", func(b *Broker) *int32 { return &b.Cleaner.BufferBytes }, integer, "524288",
		"Memory for reading and writing while compacting, split over the threads. A batch that is larger takes what it needs.", atLeast[int32](4096)),
	broker("log.cleaner.io.buffer.load.factor", func(b *Broker) *float64 { return &b.Cleaner.Load }, double, "0.9",
		"Part of the memory for keys that is filled in one round: fuller cleans more a round, and finds keys slower.",
		[]rule[float64]{{"over 0 and under 1", func(v float64) bool { return v > 0.0001 && v < 1 }}}),
	broker("log.cleaner.io.max.bytes.per.second", func(b *Broker) *float64 { return &b.Cleaner.BytesPerSecond }, double, "1.7976931348623157E308",
		"Bytes that compaction reads and writes in a second at most, all threads together.",
		[]rule[float64]{{"at least 1", func(v float64) bool { return v >= 1 }}}),
	broker("log.cleaner.backoff.ms", func(b *Broker) *time.Duration { return &b.Cleaner.Backoff }, millis, "15000",
		"How long a thread sleeps when no log is due.", lasting(time.Millisecond)),

	topic("min.cleanable.dirty.ratio", "log.cleaner.min.cleanable.ratio", func(t *Topic) *float64 { return &t.Compaction.MinDirtyRatio }, double, "0.5",
		"Part of a compacted log that must be new since the last round before the next one.",
		[]rule[float64]{{"0 to 1", func(v float64) bool { return v >= 0 && v <= 1 }}}),
	topic("min.compaction.lag.ms", "log.cleaner.min.compaction.lag.ms", func(t *Topic) *int64 { return &t.Compaction.MinLagMs }, long, "0",
		"How long a record stays as it is before compaction may take it.", atLeast[int64](0)),
	topic("max.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms", func(t *Topic) *int64 { return &t.Compaction.MaxLagMs }, long, forever,
		"Age at which a record has its log compacted whatever min.cleanable.dirty.ratio says; a segment is closed at this age too.", atLeast[int64](1)),
	topic("delete.retention.ms", "log.cleaner.delete.retention.ms", func(t *Topic) *int64 { return &t.Compaction.DeleteRetentionMs }, long, "86400000",
		"How long a tombstone stays after the round that first saw it: the time that a consumer has to read the log from start to end.", atLeast[int64](0)),
}

// check validates what one row alone cannot.
func (c *Cleaner) check() error {
	if c.Enabled && c.DedupeBytes/int64(c.Threads) < minDedupePerThread {
		return fmt.Errorf("log.cleaner.dedupe.buffer.size: %d bytes for %d threads are less than %d a thread", c.DedupeBytes, c.Threads, minDedupePerThread)
	}
	return nil
}

func (c *Compaction) check() error {
	if c.MinLagMs > c.MaxLagMs {
		return fmt.Errorf("min.compaction.lag.ms: %d is more than max.compaction.lag.ms %d", c.MinLagMs, c.MaxLagMs)
	}
	return nil
}
