package groups

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/broker/config"
	"tidemark/coordinator/group"
)

// TestTopicSettings: the topic has as many replicas as it should, or as there are
// brokers.
func TestTopicSettings(t *testing.T) {
	cfg, err := config.Parse(map[string]string{"offsets.topic.segment.bytes": "4096"})
	if err != nil {
		t.Fatal(err)
	}
	c := &Coordinator{o: Options{Config: cfg}}
	for brokers, want := range map[int]int16{0: 1, 1: 1, 2: 2, 3: 3, 9: 3} {
		partitions, replicas, settings := c.TopicSettings(brokers)
		if partitions != 50 || replicas != want {
			t.Errorf("with %d brokers: got %d partitions and %d replicas, want 50 and %d", brokers, partitions, replicas, want)
		}
		if _, err := cfg.Topic(settings); err != nil {
			t.Errorf("the topic's settings are refused: %v", err)
		}
		if settings["cleanup.policy"] != "compact" || settings["segment.bytes"] != "4096" {
			t.Errorf("got settings %v, want it compacted with segments of 4096 bytes", settings)
		}
	}
}

// TestGroupOptions: without any setting the core has Kafka's defaults, and each
// setting reaches it.
func TestGroupOptions(t *testing.T) {
	options := func(settings map[string]string) group.Options {
		cfg, err := config.Parse(settings)
		if err != nil {
			t.Fatal(err)
		}
		o := groupOptions(&cfg.Groups)
		o.Subscription = nil
		return o
	}
	defaults := options(nil)
	if diff := cmp.Diff(group.NewOptions(), defaults); diff != "" {
		t.Errorf("defaults (-core +config):\n%s", diff)
	}
	for _, name := range []string{"group.min.session.timeout.ms", "group.max.session.timeout.ms", "group.initial.rebalance.delay.ms", "group.max.size",
		"group.consumer.session.timeout.ms", "group.consumer.heartbeat.interval.ms", "group.consumer.max.size",
		"offset.metadata.max.bytes", "offsets.retention.minutes", "offsets.retention.check.interval.ms"} {
		if cmp.Equal(defaults, options(map[string]string{name: "12345"})) {
			t.Errorf("%s does not reach the core", name)
		}
	}
	if got := options(map[string]string{"group.rebalance.timeout.rule": "session"}).TimeoutRule; got != group.LargestSessionTimeout {
		t.Errorf("group.rebalance.timeout.rule=session gives rule %d", got)
	}
}
