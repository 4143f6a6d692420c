package driver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/bench/schedule"
)

// commits commits offsets: each producer is a group of its own, on a connection of
// its own, without members. A send is one OffsetCommit, a record of it the offset of one
// partition: there are batch.records of them, or one for each partition where that is 0.
// As many are under way as max.in.flight.requests.per.connection allows.
type commits struct {
	options Options
	admin   *admin
	unit    Unit
	// each is how many offsets a commit has.
	each int
	// topicID is what version 10 of OffsetCommit has in place of the name.
	topicID kadm.TopicID
}

func openCommits(ctx context.Context, o Options) (Session, error) {
	if o.Load.Fetch > 0 {
		return nil, errors.New("the commits driver reads nothing back: set fetch to 0s")
	}
	a, err := openAdmin(ctx, o)
	if err != nil {
		return nil, err
	}
	c := &commits{options: o, admin: a, each: o.Load.Partitions}
	if o.Load.BatchRecords > 0 {
		c.each = min(c.each, o.Load.BatchRecords)
	}
	request := c.request(0, 0)
	c.unit = Unit{Records: int64(c.each), Wire: int64(len(request.AppendTo(nil))), LatencyOf: "batch"}
	_, err = a.leaders(ctx)
	if err == nil {
		err = c.begin(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, a.close())
	}
	return c, nil
}

// begin learns the topic's id and commits once in every group, so that the coordinators
// are there.
func (c *commits) begin(ctx context.Context) error {
	topics, err := c.admin.kadm.ListTopics(ctx, c.options.Topic)
	if err != nil {
		return fmt.Errorf("id of topic %s: %w", c.options.Topic, err)
	}
	c.topicID = topics[c.options.Topic].ID
	for worker := range c.options.Load.Producers {
		if err := c.commit(ctx, c.admin.client, worker, 0); err != nil {
			return fmt.Errorf("first commit of group %s: %w", c.group(worker), err)
		}
	}
	return nil
}

func (c *commits) group(worker int) string {
	return fmt.Sprintf("%s-%d", c.options.Topic, worker)
}

// request is the commit with a number, of the next partitions in turn.
func (c *commits) request(worker int, number int64) *kmsg.OffsetCommitRequest {
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Version = 10
	r.Group = c.group(worker)
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.TopicID = c.options.Topic, c.topicID
	for i := range c.each {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition = int32((int(number)*c.each + i) % c.options.Load.Partitions)
		p.Offset = number
		t.Partitions = append(t.Partitions, p)
	}
	r.Topics = append(r.Topics, t)
	return r
}

// commit commits and waits; the error is that of the request or of an offset.
func (c *commits) commit(ctx context.Context, client *kgo.Client, worker int, number int64) error {
	answer, err := c.request(worker, number).RequestWith(ctx, client)
	if err != nil {
		return err
	}
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
}

// Unit implements Session.
func (c *commits) Unit() Unit { return c.unit }

// Produce implements Session.
func (c *commits) Produce(ctx context.Context, worker int, feed Feed) (int64, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(c.options.Bootstrap, ",")...), kgo.ClientID(clientID), kgo.RetryTimeout(30*time.Second))
	if err != nil {
		return 0, err
	}
	defer client.Close()
	if err := c.commit(ctx, client, worker, 0); err != nil { // it knows its coordinator
		return 0, err
	}
	type sent struct{ due, number int64 }
	type answered struct {
		due, sent, now int64
		err            error
	}
	due, answers := make(chan sent), make(chan answered, c.options.Load.InFlight)
	var under, settled sync.WaitGroup
	for range c.options.Load.InFlight {
		under.Go(func() {
			for s := range due {
				began := schedule.Now()
				err := c.commit(ctx, client, worker, s.number)
				answers <- answered{s.due, began, schedule.Now(), err}
			}
		})
	}
	var failures, unanswered int64
	var first error
	settled.Go(func() {
		for a := range answers {
			switch {
			case a.err == nil:
				feed.Acked(Ack{Due: a.due, Sent: a.sent, Now: a.now, Records: c.unit.Records, Wire: c.unit.Wire, Offset: -1})
			case ctx.Err() != nil:
				unanswered += c.unit.Records
			default:
				if failures++; first == nil {
					first = a.err
				}
				feed.Failed(a.due, c.unit.Records)
			}
		}
	})
	c.send(feed, func(intended, number int64) { due <- sent{intended, number} })
	close(due)
	under.Wait()
	close(answers)
	settled.Wait()
	if failures > 0 {
		return unanswered, fmt.Errorf("%d commits failed, the first with: %w", failures, first)
	}
	return unanswered, nil
}

// send hands on what is due, and says since when it was held up.
func (c *commits) send(feed Feed, hand func(due, number int64)) {
	var held int64
	for number := int64(1); ; number++ {
		due, ok := feed.Next()
		if !ok {
			return
		}
		before := schedule.Now()
		hand(due, number)
		now := schedule.Now()
		if now-before > int64(50*time.Microsecond) {
			held = now
		}
		feed.Sent(due, now, Send{Records: c.unit.Records, Wire: c.unit.Wire, Held: held})
	}
}

// Fetch implements Session; Open refuses a load that reads.
func (c *commits) Fetch(context.Context, int, Sink) error { return nil }

// Follow implements Session: there is nothing to follow.
func (c *commits) Follow(ctx context.Context, _ int, _ Sink) error {
	<-ctx.Done()
	return nil
}

// Count implements Session: commits replace one another.
func (c *commits) Count(context.Context) (int64, error) { return -1, nil }

// Close implements Session.
func (c *commits) Close() error { return c.admin.close() }
