package broker

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/broker/config"
)

// TestGroupsAcrossRestart: what a group committed is there after an orderly restart,
// and the metrics show groups by state.
func TestGroupsAcrossRestart(t *testing.T) {
	for _, storage := range []string{config.OffsetsInKafka, config.OffsetsInZooKeeper} {
		t.Run(storage, func(t *testing.T) { groupsAcrossRestart(t, storage) })
	}
}

func groupsAcrossRestart(t *testing.T, storage string) {
	cfg := settings(t.TempDir(), "group.initial.rebalance.delay.ms", "0", "offsets.topic.num.partitions", "3", "offsets.storage", storage)
	b := start(t, cfg)
	client := groupClient(t, b)
	if err := client.ProduceSync(t.Context(), kgo.StringRecord("a"), kgo.StringRecord("b")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	for read := 0; read < 2; {
		fetches := client.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		read += fetches.NumRecords()
	}
	if err := client.CommitUncommittedOffsets(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`tidemark_groups{state="Stable"} 1`, `tidemark_groups{state="Empty"} 0`} {
		if got := page(t, b); !strings.Contains(got, want) {
			t.Errorf("the metrics lack %q", want)
		}
	}
	client.Close()
	if err := b.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}

	b = start(t, cfg)
	admin := kadm.NewClient(groupClient(t, b))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	offsets, err := admin.FetchOffsets(ctx, "g")
	if err != nil {
		t.Fatal(err)
	}
	if o, ok := offsets.Lookup("t", 0); !ok || o.At != 2 {
		t.Errorf("after the restart the group's offset is %+v, want 2", o)
	}
	topics, err := admin.ListTopicsWithInternal(ctx)
	if err != nil || !topics["__consumer_offsets"].IsInternal {
		t.Errorf("topics: %v, %v, want __consumer_offsets among them, as an internal one", topics, err)
	}
}

// groupClient is a member of g that reads and writes t from its start.
func groupClient(t *testing.T, b *Broker) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr().String()), kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.DefaultProduceTopic("t"),
		kgo.AllowAutoTopicCreation(), kgo.MetadataMinAge(100*time.Millisecond), kgo.UnknownTopicRetries(100), kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// page is the broker's metrics.
func page(t *testing.T, b *Broker) string {
	t.Helper()
	_, body := get(t, "http://"+b.MetricsAddr()+"/metrics")
	return body
}
