package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
)

var kafkaGoCodecs = map[string]kafka.Compression{
	"none": 0, "gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd,
}

func TestKafkaGoRoundTripEveryCodec(t *testing.T) {
	b := startBroker(t)
	for _, codec := range codecs {
		t.Run(codec, func(t *testing.T) {
			topic := "kafkago-" + codec
			kafkaGoCreate(t, b, topic)
			const records = 500
			transport := &kafka.Transport{} // the default one remembers for seconds which topics there were
			defer transport.CloseIdleConnections()
			writer := &kafka.Writer{Transport: transport, Addr: kafka.TCP(b.Bootstrap), Topic: topic, Compression: kafkaGoCodecs[codec], RequiredAcks: kafka.RequireAll, BatchTimeout: 5 * time.Millisecond}
			messages := make([]kafka.Message, records)
			for i := range messages {
				messages[i].Value = kafkaGoValue(i)
			}
			if err := writer.WriteMessages(t.Context(), messages...); err != nil {
				t.Fatal(err)
			}
			if err := writer.Close(); err != nil {
				t.Fatal(err)
			}
			kafkaGoRead(t, b, topic, records)
			requireCodecOnTheWire(t, b, topic, codec)
		})
	}
}

// kafkaGoCreate uses the low-level connection with its hard-coded low versions.
func kafkaGoCreate(t *testing.T, b *brokerProcess, topic string) {
	t.Helper()
	conn, err := kafka.Dial("tcp", b.Bootstrap)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.CreateTopics(kafka.TopicConfig{Topic: topic, NumPartitions: 1, ReplicationFactor: 1}); err != nil {
		t.Fatal(err)
	}
	partitions, err := conn.ReadPartitions(topic)
	if err != nil || len(partitions) != 1 {
		t.Fatalf("ReadPartitions: got %v, %v, want one partition", partitions, err)
	}
}

func kafkaGoRead(t *testing.T, b *brokerProcess, topic string, records int) {
	t.Helper()
	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{b.Bootstrap}, Topic: topic, Partition: 0, MaxWait: 200 * time.Millisecond})
	defer reader.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for i := range records {
		m, err := reader.ReadMessage(ctx)
		if err != nil {
			t.Fatalf("read record %d: %v", i, err)
		}
		if m.Offset != int64(i) || string(m.Value) != string(kafkaGoValue(i)) {
			t.Fatalf("got offset %d value %q, want offset %d value %q", m.Offset, m.Value, i, kafkaGoValue(i))
		}
	}
}

func kafkaGoValue(i int) []byte { return fmt.Appendf(nil, "value-%d %0100d", i, 0) }
