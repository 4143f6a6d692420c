package e2e

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
)

// memberEnv makes the test binary a member of a group, for a member that is killed
// is a process of its own.
const memberEnv = "TIDEMARK_E2E_MEMBER"

// sessionEnv sets how long a member may be silent, where it is not a second.
const sessionEnv = "TIDEMARK_E2E_SESSION"

func memberSession() time.Duration {
	if d, err := time.ParseDuration(os.Getenv(sessionEnv)); err == nil {
		return d
	}
	return time.Second
}

// A member prints partition and offset of each record and then commits, until it is
// told to end. Its arguments are bootstrap, group and topic.
var goMembers = map[string]func(ctx context.Context, bootstrap, group, topic string) error{
	"franz": franzMember, "sarama": saramaMember, "kafka-go": kafkaGoMember,
}

// runMember is the test binary's main as a member.
func runMember(library string, args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := goMembers[library](ctx, args[0], args[1], args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func franzMember(ctx context.Context, bootstrap, group, topic string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(memberSession()), kgo.HeartbeatInterval(200*time.Millisecond), kgo.RebalanceTimeout(5*time.Second))
	if err != nil {
		return err
	}
	defer client.CloseAllowingRebalance()
	for ctx.Err() == nil {
		fetches := client.PollRecords(ctx, 100)
		fetches.EachRecord(func(r *kgo.Record) { fmt.Println(r.Partition, r.Offset) })
		_ = client.CommitRecords(ctx, fetches.Records()...) // where a rebalance forbids it, they are read again
		client.AllowRebalance()
	}
	return nil
}

func saramaMember(ctx context.Context, bootstrap, group, topic string) error {
	c := sarama.NewConfig()
	c.Consumer.Group.Session.Timeout, c.Consumer.Group.Heartbeat.Interval = time.Second, 200*time.Millisecond
	c.Consumer.Group.Rebalance.Timeout = 5 * time.Second
	c.Consumer.Offsets.Initial, c.Consumer.Offsets.AutoCommit.Enable = sarama.OffsetOldest, false
	consumer, err := sarama.NewConsumerGroup([]string{bootstrap}, group, c)
	if err != nil {
		return err
	}
	defer consumer.Close()
	for ctx.Err() == nil {
		if err := consumer.Consume(ctx, []string{topic}, saramaClaims{}); err != nil {
			fmt.Fprintln(os.Stderr, err) // the broker may be away for longer than the library tries
			time.Sleep(100 * time.Millisecond)
		}
	}
	return nil
}

// saramaClaims is what sarama calls with each partition of a generation.
type saramaClaims struct{}

func (saramaClaims) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (saramaClaims) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (saramaClaims) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for first := true; ; {
		select {
		case m, ok := <-c.Messages():
			if !ok {
				return nil
			}
			fmt.Println(m.Partition, m.Offset)
			if first { // it may be before what is committed, and marks alone never go back
				s.ResetOffset(m.Topic, m.Partition, m.Offset, "")
			}
			first = false
			s.MarkMessage(m, "")
			if len(c.Messages()) == 0 {
				s.Commit()
			}
		case <-again.C:
			s.Commit() // nothing, but where the last one failed
		case <-s.Context().Done():
			return nil
		}
	}
}

func kafkaGoMember(ctx context.Context, bootstrap, group, topic string) error {
	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{bootstrap}, GroupID: group, Topic: topic, StartOffset: kafka.FirstOffset,
		SessionTimeout: time.Second, HeartbeatInterval: 200 * time.Millisecond, RebalanceTimeout: 5 * time.Second,
		MaxWait: 200 * time.Millisecond, JoinGroupBackoff: 100 * time.Millisecond})
	defer reader.Close()
	for {
		m, err := reader.FetchMessage(ctx)
		if err != nil {
			return ignoreEnd(ctx, err)
		}
		fmt.Println(m.Partition, m.Offset)
		_ = reader.CommitMessages(ctx, m) // where a rebalance forbids it, it is read again
	}
}

func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
