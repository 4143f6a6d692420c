package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/IBM/sarama"
)

var saramaCodecs = map[string]sarama.CompressionCodec{
	"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
	"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
}

func TestSaramaRoundTripEveryCodec(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	for _, codec := range codecs {
		t.Run(codec, func(t *testing.T) {
			topic := "sarama-" + codec
			client, err := sarama.NewClient([]string{b.Bootstrap}, saramaConfig(codec))
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			saramaCreate(t, client, topic)
			const records = 1000
			saramaProduce(t, client, topic, records)
			saramaConsume(t, client, topic, records)
			requireCodecOnTheWire(t, b, topic, codec)
		})
	}
}

func saramaConfig(codec string) *sarama.Config {
	c := sarama.NewConfig()
	c.Producer.Return.Successes = true
	c.Producer.Compression = saramaCodecs[codec]
	c.Producer.RequiredAcks = sarama.WaitForAll
	c.Producer.Idempotent = true
	c.Net.MaxOpenRequests = 1
	return c
}

// saramaCreate also walks through the admin calls of the library.
func saramaCreate(t *testing.T, client sarama.Client, topic string) {
	t.Helper()
	admin, err := sarama.NewClusterAdminFromClient(client)
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, false); err != nil {
		t.Fatal(err)
	}
	value := "123456"
	if err := admin.AlterConfig(sarama.TopicResource, topic, map[string]*string{"retention.ms": &value}, false); err != nil {
		t.Fatal(err)
	}
	asked := &sarama.ConfigResource{Type: sarama.TopicResource, Name: topic, ConfigNames: []string{"retention.ms"}}
	results, err := admin.DescribeConfigs([]*sarama.ConfigResource{asked}, sarama.DescribeConfigsOptions{})
	if err != nil || len(results) != 1 || len(results[0].Configs) != 1 || results[0].Configs[0].Value != value {
		t.Errorf("retention.ms after AlterConfig: got %+v, %v", results, err)
	}
}

func saramaProduce(t *testing.T, client sarama.Client, topic string, records int) {
	t.Helper()
	producer, err := sarama.NewSyncProducerFromClient(client)
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	messages := make([]*sarama.ProducerMessage, records)
	for i := range messages {
		messages[i] = &sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(saramaValue(i))}
	}
	if err := producer.SendMessages(messages); err != nil {
		t.Fatal(err)
	}
}

func saramaConsume(t *testing.T, client sarama.Client, topic string, records int) {
	t.Helper()
	consumer, err := sarama.NewConsumerFromClient(client)
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(topic, 0, sarama.OffsetOldest)
	if err != nil {
		t.Fatal(err)
	}
	defer partition.Close()
	for i := range records {
		select {
		case m := <-partition.Messages():
			if m.Offset != int64(i) || string(m.Value) != saramaValue(i) {
				t.Fatalf("got offset %d value %q, want offset %d value %q", m.Offset, m.Value, i, saramaValue(i))
			}
		case <-time.After(patience):
			t.Fatalf("no record at offset %d within %v", i, patience)
		}
	}
}

func saramaValue(i int) string { return fmt.Sprintf("value-%d %0100d", i, 0) }
