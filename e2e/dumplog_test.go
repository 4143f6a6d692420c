package e2e

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// appendEngines are the shipped ones.
var appendEngines = []string{"buffered", "mapped", "direct"}

// TestKafkaDumpLogAcceptsEveryFile writes through every append engine and every
// codec, with rolls, idempotent and transactional producers, stops the broker and
// hands each file of each partition to Kafka's own tool.
func TestKafkaDumpLogAcceptsEveryFile(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	for _, engine := range appendEngines {
		topic := "dump-" + engine
		createTopic(t, b, topic, 1, "storage.append.engine", engine, "segment.bytes", "1048576", "index.interval.bytes", "4096")
		for _, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
			produceStrings(t, b, topic, 20_000, kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(32<<10))
		}
	}
	createTopic(t, b, "dump-append-time", 1, "message.timestamp.type", "LogAppendTime")
	produceStrings(t, b, "dump-append-time", 1000)
	createTopic(t, b, "dump-txn", 1)
	client := transactional(t, b, "dump")
	for range 3 {
		transact(t, client, "dump-txn", kgo.TryCommit, "a", "b")
		transact(t, client, "dump-txn", kgo.TryAbort, "c", "d")
	}
	client.Close()
	b.Stop(t)

	files := map[string][]string{}
	err := filepath.WalkDir(b.Dir, func(path string, d fs.DirEntry, err error) error {
		ext := filepath.Ext(path)
		if err == nil && !d.IsDir() && strings.Contains(filepath.Base(filepath.Dir(path)), "dump-") {
			files[ext] = append(files[ext], path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for ext, atLeast := range map[string]int{".log": 3, ".index": 3, ".timeindex": 3, ".snapshot": 3, ".txnindex": 1} {
		if len(files[ext]) < atLeast {
			t.Errorf("the brokers left %d files %s, want %d at least", len(files[ext]), ext, atLeast)
			continue
		}
		k := kafkaReleases[0]
		out := k.java(t, "", "kafka.tools.DumpLogSegments", "--deep-iteration", "--files", strings.Join(files[ext], ","))
		for _, complaint := range []string{"Mismatches", "Non-consecutive", "Found timestamp mismatch", "Found out of order", "orrupt", "Exception", "isvalid: false", "invalid"} {
			if strings.Contains(out, complaint) {
				t.Errorf("kafka-dump-log on *%s complains (%q):\n%s", ext, complaint, around(out, complaint))
			}
		}
		if got := strings.Count(out, "Dumping "); got != len(files[ext]) {
			t.Errorf("kafka-dump-log looked at %d of %d files *%s", got, len(files[ext]), ext)
		}
		if got := strings.Count(out, "producerId: "); ext == ".txnindex" && got != 3 {
			t.Errorf("kafka-dump-log shows %d aborted transactions, want 3:\n%s", got, out)
		}
	}
}

// around returns the neighbourhood of the first occurrence of word.
func around(out, word string) string {
	i := strings.Index(out, word)
	return out[max(0, i-400):min(len(out), i+400)]
}
