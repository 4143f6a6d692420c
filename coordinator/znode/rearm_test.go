package znode

import "testing"

// TestNoWatchIsMissed is C08: many changes while a watch is being re-armed; the
// last state is always seen.
func TestNoWatchIsMissed(t *testing.T) {
	c, p, direct := throughProxy(t, lasts)
	ctx := testContext(t)
	f := elect(t, direct)
	seen := make(chan int, 10_000)
	c.WatchChildren(ctx, PlaceTopics, func() {
		names, err := c.TopicNames(ctx)
		if err == nil {
			seen <- len(names)
		}
	})
	const topics = 60
	for i := range topics {
		if i%20 == 10 {
			p.cut()
		}
		name := string(rune('a'+i%26)) + string(rune('a'+i/26))
		if err := direct.CreateTopic(ctx, f, Topic{Name: name, ID: NewTopicID(), Partitions: map[int32][]BrokerID{0: {1}}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for n := range seen {
		if n == topics {
			return
		}
	}
}
