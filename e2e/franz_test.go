package e2e

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/protocol/record"
)

var codecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

func TestFranzRoundTripEveryCodec(t *testing.T) {
	b := startBroker(t)
	compression := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	for _, codec := range codecs {
		t.Run(codec, func(t *testing.T) {
			topic := "franz-" + codec
			createTopic(t, b, topic, 3)
			producer := newKgo(t, b, kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(compression[codec]))
			const records = 5000
			for i := range records {
				producer.Produce(context.Background(), compressible(i), func(_ *kgo.Record, err error) {
					if err != nil {
						t.Errorf("produce: %v", err)
					}
				})
			}
			if err := producer.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			consumeAll(t, newKgo(t, b, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())), records)
			requireCodecOnTheWire(t, b, topic, codec)
		})
	}
}

func TestFranzAdmin(t *testing.T) {
	b := startBroker(t)
	admin := b.admin()
	ctx := t.Context()
	createTopic(t, b, "admin", 2)
	produceStrings(t, b, "admin", 100)

	if _, err := admin.UpdatePartitions(ctx, 4, "admin"); err != nil {
		t.Fatal(err)
	}
	details, err := admin.ListTopics(ctx, "admin")
	if err != nil {
		t.Fatal(err)
	}
	if got := len(details["admin"].Partitions); got != 4 {
		t.Errorf("after UpdatePartitions: got %d partitions, want 4", got)
	}
	retention := "123456"
	if _, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: &retention}}, "admin"); err != nil {
		t.Fatal(err)
	}
	requireTopicConfig(t, admin, "admin", "retention.ms", retention)
	ends, err := admin.ListEndOffsets(ctx, "admin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.DeleteRecords(ctx, ends.Offsets()); err != nil {
		t.Fatal(err)
	}
	starts, err := admin.ListStartOffsets(ctx, "admin")
	if err != nil {
		t.Fatal(err)
	}
	ends.Each(func(end kadm.ListedOffset) {
		if start, _ := starts.Lookup("admin", end.Partition); start.Offset != end.Offset {
			t.Errorf("partition %d starts at %d after DeleteRecords, want %d", end.Partition, start.Offset, end.Offset)
		}
	})
	if dirs, err := admin.DescribeAllLogDirs(ctx, nil); err != nil || len(dirs) != 1 {
		t.Errorf("DescribeAllLogDirs: got %v, %v, want one broker", dirs, err)
	}
	if _, err := admin.DeleteTopics(ctx, "admin"); err != nil {
		t.Fatal(err)
	}
	if left, err := admin.ListTopics(ctx); err != nil || left.Has("admin") {
		t.Errorf("after DeleteTopics: topic still there or %v", err)
	}
}

func requireTopicConfig(t *testing.T, admin *kadm.Client, topic, name, want string) {
	t.Helper()
	configs, err := admin.DescribeTopicConfigs(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range configs[0].Configs {
		if c.Key == name {
			if got := c.MaybeValue(); got != want {
				t.Errorf("%s of %s: got %q, want %q", name, topic, got, want)
			}
			return
		}
	}
	t.Errorf("%s of %s is not described", name, topic)
}

func createTopic(t *testing.T, b *brokerProcess, topic string, partitions int32, config ...string) {
	t.Helper()
	configs := map[string]*string{}
	for i := 0; i < len(config); i += 2 {
		configs[config[i]] = &config[i+1]
	}
	if _, err := b.admin().CreateTopic(t.Context(), partitions, 1, configs, topic); err != nil {
		t.Fatalf("create topic %s: %v", topic, err)
	}
}

// compressible is record i: any codec makes a batch of them at least twice as small.
func compressible(i int) *kgo.Record {
	return &kgo.Record{
		Key:     []byte(strconv.Itoa(i)),
		Value:   fmt.Appendf(nil, "value-%d %0100d", i, 0),
		Headers: []kgo.RecordHeader{{Key: "n", Value: []byte(strconv.Itoa(i))}},
	}
}

func produceStrings(t *testing.T, b *brokerProcess, topic string, records int, opts ...kgo.Opt) {
	t.Helper()
	producer := newKgo(t, b, append(opts, kgo.DefaultProduceTopic(topic))...)
	defer producer.Close() // some produce in a loop
	batch := make([]*kgo.Record, records)
	for i := range batch {
		batch[i] = compressible(i)
	}
	if err := producer.ProduceSync(t.Context(), batch...).FirstErr(); err != nil {
		t.Fatalf("produce to %s: %v", topic, err)
	}
}

// consumeAll reads until every record number 0..records-1 was seen, each once.
func consumeAll(t *testing.T, consumer *kgo.Client, records int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	seen := make([]bool, records)
	for left := records; left > 0; {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("fetch with %d records missing: %v", left, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			i, err := strconv.Atoi(string(r.Key))
			if err != nil || i < 0 || i >= records || seen[i] {
				t.Fatalf("partition %d offset %d: key %q is foreign or was read before", r.Partition, r.Offset, r.Key)
			}
			if want := compressible(i); string(r.Value) != string(want.Value) {
				t.Fatalf("record %d: got value %q, want %q", i, r.Value, want.Value)
			}
			seen[i] = true
			left--
		})
	}
}

// requireCodecOnTheWire fetches raw batches of every partition and checks that
// each carries the codec, and that compression really made it small: a client
// that silently falls back to none would pass every other test.
func requireCodecOnTheWire(t *testing.T, b *brokerProcess, topic, codec string) {
	t.Helper()
	batches := rawBatches(t, b, topic)
	if len(batches) == 0 {
		t.Fatalf("%s holds no batch", topic)
	}
	for _, batch := range batches {
		if got := batch.Codec().String(); got != codec {
			t.Errorf("%s: a batch of codec %s, want %s", topic, got, codec)
		}
		if perRecord := batch.Size() / int(batch.Count()); codec != "none" && batch.Count() > 50 && perRecord > 60 {
			t.Errorf("%s: %d bytes a record after %s, so it was not compressed", topic, perRecord, codec)
		}
	}
}

func rawBatches(t *testing.T, b *brokerProcess, topic string) []record.Batch {
	t.Helper()
	client := newKgo(t, b)
	details, err := kadm.NewClient(client).ListTopics(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	var batches []record.Batch
	for partition := range details[topic].Partitions {
		req := kmsg.NewPtrFetchRequest()
		req.MaxBytes = 64 << 20
		reqPartition := kmsg.NewFetchRequestTopicPartition()
		reqPartition.Partition, reqPartition.PartitionMaxBytes = partition, 64<<20
		req.Topics = []kmsg.FetchRequestTopic{{Topic: topic, TopicID: details[topic].ID, Partitions: []kmsg.FetchRequestTopicPartition{reqPartition}}}
		shards := client.RequestSharded(t.Context(), req)
		for _, shard := range shards {
			if shard.Err != nil {
				t.Fatal(shard.Err)
			}
			for _, p := range shard.Resp.(*kmsg.FetchResponse).Topics[0].Partitions {
				for rest := p.RecordBatches; len(rest) > 0; {
					var batch record.Batch
					if batch, rest, err = record.Parse(rest); err != nil {
						t.Fatalf("%s-%d: %v", topic, partition, err)
					}
					batches = append(batches, batch)
				}
			}
		}
	}
	return batches
}
