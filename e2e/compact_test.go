package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/commitlog/checkpoint"
	"tidemark/internal/vfs"
)

var codecsOfTopics = map[string]kgo.CompressionCodec{
	"compact-none": kgo.NoCompression(), "compact-gzip": kgo.GzipCompression(), "compact-snappy": kgo.SnappyCompression(),
	"compact-lz4": kgo.Lz4Compression(), "compact-zstd": kgo.ZstdCompression(),
}

// TestCompactedTopics writes a few keys over and over, with every codec, waits until
// the running broker has compacted the topics, and has them read by franz-go, by
// Java's console consumer and, file by file, by kafka-dump-log. What is left is
// the last value of every key, also after a restart.
func TestCompactedTopics(t *testing.T) {
	t.Parallel()
	const records, keys = 20_000, 500
	settings := []string{"log.cleaner.backoff.ms=50", "log.cleaner.threads=2", "log.cleaner.io.buffer.size=16384"}
	b := startBroker(t, settings...)
	for topic, codec := range codecsOfTopics {
		createTopic(t, b, topic, 1, "cleanup.policy", "compact", "segment.bytes", "65536", "min.cleanable.dirty.ratio", "0.01", "index.interval.bytes", "1024")
		overwrite(t, b, topic, records, keys, kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(16<<10))
	}
	createTopic(t, b, "compact-append-time", 1, "cleanup.policy", "compact", "segment.bytes", "65536", "min.cleanable.dirty.ratio", "0.01", "message.timestamp.type", "LogAppendTime")
	overwrite(t, b, "compact-append-time", records, keys, kgo.ProducerBatchMaxBytes(16<<10))
	awaitCleaned(t, b, records/2)

	for topic := range codecsOfTopics {
		requireLastValues(t, b, topic, records, keys)
	}
	requireLastValues(t, b, "compact-append-time", records, keys)
	keyless := newKgo(t, b, kgo.DefaultProduceTopic("compact-lz4"))
	if err := keyless.ProduceSync(t.Context(), &kgo.Record{Value: []byte("v")}).FirstErr(); err == nil || !strings.Contains(err.Error(), "INVALID_RECORD") {
		t.Errorf("a record without a key: %v, want INVALID_RECORD", err)
	}
	t.Run("console consumer", func(t *testing.T) {
		k := kafkaReleases[0]
		out := k.java(t, "", k.ConsoleConsumer, "--bootstrap-server", b.Bootstrap, "--topic", "compact-zstd", "--partition", "0",
			"--offset", "earliest", "--timeout-ms", "10000", "--property", "print.key=true")
		last := map[string]string{}
		for line := range strings.Lines(out) {
			if key, value, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				last[key] = value
			}
		}
		for key := range keys {
			want := fmt.Sprintf("value %d", records-keys+key)
			if key%10 == 0 {
				want = "null"
			}
			if got := last[strconv.Itoa(key)]; got != want {
				t.Fatalf("key %d: the console consumer printed %q at last, want %q", key, got, want)
			}
		}
	})
	b.Stop(t)

	t.Run("kafka-dump-log", func(t *testing.T) { dumpCompacted(t, b) })
	again := startBrokerWith(t, nil, b.Dir, settings...)
	for topic := range codecsOfTopics {
		requireLastValues(t, again, topic, records, keys)
	}
}

// overwrite produces records whose keys repeat, for every tenth key tombstones.
func overwrite(t *testing.T, b *brokerProcess, topic string, records, keys int, opts ...kgo.Opt) {
	t.Helper()
	producer := newKgo(t, b, append(opts, kgo.DefaultProduceTopic(topic))...)
	batch := make([]*kgo.Record, records)
	for i := range batch {
		batch[i] = &kgo.Record{Key: []byte(strconv.Itoa(i % keys)), Value: fmt.Appendf(nil, "value %d", i),
			Headers: []kgo.RecordHeader{{Key: "n", Value: []byte(strconv.Itoa(i))}}}
		if i%10 == 0 {
			batch[i].Value = nil
		}
	}
	if err := producer.ProduceSync(t.Context(), batch...).FirstErr(); err != nil {
		t.Fatalf("produce to %s: %v", topic, err)
	}
}

// awaitCleaned returns once the broker's checkpoint says that every compacted topic
// was cleaned beyond offset.
func awaitCleaned(t *testing.T, b *brokerProcess, offset int64) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		cleaned, err := checkpoint.ReadOffsets(vfs.OS{}, filepath.Join(b.Dir, checkpoint.CleanerFile))
		if err != nil {
			t.Fatal(err)
		}
		done := 0
		for _, at := range cleaned {
			if at > offset {
				done++
			}
		}
		if done == len(codecsOfTopics)+1 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("cleaned in %v: %v", patience, cleaned)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// requireLastValues reads a topic from the start: far fewer records than were
// written, and the last of every key.
func requireLastValues(t *testing.T, b *brokerProcess, topic string, records, keys int) {
	t.Helper()
	consumer := newKgo(t, b, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	last := map[string]*kgo.Record{}
	read := 0
	for end := false; !end; {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("%s: fetch after %d records: %v", topic, read, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			last[string(r.Key)] = r
			end = end || r.Offset == int64(records-1)
			read++
			if n := string(r.Headers[0].Value); n != strconv.FormatInt(r.Offset, 10) {
				t.Fatalf("%s: record number %s at offset %d", topic, n, r.Offset)
			}
		})
	}
	if read > records*3/4 {
		t.Errorf("%s: %d of %d records are left", topic, read, records)
	}
	for key := range keys {
		r := last[strconv.Itoa(key)]
		if n := records - keys + key; r == nil || r.Offset != int64(n) || (r.Value == nil) != (key%10 == 0) {
			t.Fatalf("%s: the last of key %d is %+v, want record %d", topic, key, r, n)
		}
	}
}

// dumpCompacted hands every file of the compacted topics to Kafka's own tool.
func dumpCompacted(t *testing.T, b *brokerProcess) {
	for _, ext := range []string{".log", ".index", ".timeindex", ".snapshot"} {
		files, err := filepath.Glob(filepath.Join(b.Dir, "compact-*-0", "*"+ext))
		if err != nil || len(files) < 6 {
			t.Fatalf("%d files *%s, %v", len(files), ext, err)
		}
		out := kafkaReleases[0].java(t, "", "kafka.tools.DumpLogSegments", "--deep-iteration", "--files", strings.Join(files, ","))
		for _, complaint := range []string{"Mismatches", "Found timestamp mismatch", "Found out of order", "orrupt", "Exception", "isvalid: false", "invalid"} {
			if strings.Contains(out, complaint) {
				t.Errorf("kafka-dump-log on *%s complains (%q):\n%s", ext, complaint, around(out, complaint))
			}
		}
		if ext != ".log" {
			continue
		}
		for _, want := range []string{"deleteHorizonMs: OptionalLong[", "compresscodec: gzip", "compresscodec: snappy", "compresscodec: lz4", "compresscodec: zstd", "count: 0"} {
			if !strings.Contains(out, want) {
				t.Errorf("kafka-dump-log shows no %q in the compacted files", want)
			}
		}
	}
}
