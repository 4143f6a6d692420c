package e2e

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestJavaSubscribesByRegex: the broker evaluates a pattern (RE2, KIP-848) for Java's
// consumer, over topics that there are and that come to be; and shows it.
func TestJavaSubscribesByRegex(t *testing.T) {
	t.Parallel()
	b := startBroker(t, quickGroups...)
	createTopic(t, b, "orders-1", 1)
	createTopic(t, b, "reorders-1", 1)
	produceStrings(t, b, "orders-1", 100)
	produceStrings(t, b, "reorders-1", 900)
	p := newProcessed()
	m := startMember(t, p, kafkaReleases[0].command(t, "tidemark.Member", b.Bootstrap, "g", `/orders-\d/`, "uniform"))
	p.await(t, 100)

	createTopic(t, b, "orders-2", 1)
	produceStrings(t, b, "orders-2", 300) // offsets of which 200 are not also of orders-1
	p.await(t, 300)

	describe := kmsg.NewPtrConsumerGroupDescribeRequest()
	describe.Groups = []string{"g"}
	eventually(t, "the pattern is described", func() bool { // a slow member may just have lost its session
		answer, err := describe.RequestWith(t.Context(), b.client)
		must(t, err)
		members := answer.Groups[0].Members
		return len(members) == 1 && members[0].SubscribedTopicRegex != nil && *members[0].SubscribedTopicRegex == `orders-\d`
	})
	m.kill()
	if got := p.records(); got != 300 {
		t.Errorf("%d records were read, want the 300 of orders-1 and orders-2", got)
	}
}
