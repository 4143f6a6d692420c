package driver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// admin creates the topic of a session and answers questions about it.
type admin struct {
	client     *kgo.Client
	kadm       *kadm.Client
	topic      string
	partitions int
	// brokers is how many a cluster of the load's own has, replicas how many of
	// them hold a partition.
	brokers, replicas int
	// temporary: the cluster outlives the session, the topic must not.
	temporary bool
	// begun is how many offsets the topic had before the load.
	begun int64
}

// openAdmin connects and creates the topic.
func openAdmin(ctx context.Context, o Options) (*admin, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(o.Bootstrap, ",")...), kgo.ClientID(clientID+"-admin"), kgo.RequestRetries(3), kgo.RetryTimeout(10*time.Second))
	if err != nil {
		return nil, fmt.Errorf("admin client: %w", err)
	}
	a := &admin{client: client, kadm: kadm.NewClient(client), topic: o.Topic, partitions: o.Load.Partitions,
		brokers: o.Load.Brokers, replicas: o.Load.Replicas, temporary: o.Load.Target == "external"}
	configs := map[string]*string{}
	for name, value := range o.Load.Topic {
		configs[name] = &value
	}
	if err := a.create(ctx, configs); err != nil {
		client.Close()
		return nil, fmt.Errorf("create topic %s (%d partitions, %v): %w", o.Topic, o.Load.Partitions, o.Load.Topic, err)
	}
	return a, nil
}

// controllerWithin is how long a fresh cluster may take to elect a controller.
const controllerWithin = 15 * time.Second

// create creates the topic, and tries again while there is no controller yet.
func (a *admin) create(ctx context.Context, configs map[string]*string) error {
	deadline := time.Now().Add(controllerWithin)
	for {
		err := a.createOnce(ctx, configs)
		if err == nil {
			return nil
		}
		if !kerr.IsRetriable(err) && !kgo.IsRetryableBrokerErr(err) || time.Now().After(deadline) || ctx.Err() != nil {
			return err
		}
		timer := time.NewTimer(20 * time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

func (a *admin) createOnce(ctx context.Context, configs map[string]*string) error {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = a.topic, int32(a.partitions), int16(a.replicas)
	if a.brokers > 1 {
		t.NumPartitions, t.ReplicationFactor = -1, -1
		t.ReplicaAssignment = a.assignment()
	}
	for name, value := range configs {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = name, value
		t.Configs = append(t.Configs, c)
	}
	request := kmsg.NewPtrCreateTopicsRequest()
	request.TimeoutMillis, request.Topics = int32(controllerWithin.Milliseconds()), append(request.Topics, t)
	answer, err := request.RequestWith(ctx, a.client)
	if err != nil {
		return err
	}
	if len(answer.Topics) != 1 {
		return fmt.Errorf("answer on %d topics, want 1", len(answer.Topics))
	}
	if err := kerr.ErrorForCode(answer.Topics[0].ErrorCode); err != nil {
		if message := answer.Topics[0].ErrorMessage; message != nil {
			return fmt.Errorf("%w: %s", err, *message)
		}
		return err
	}
	return nil
}

// assignment puts every partition on the first brokers, in the order of their ids:
// one leads all, so that it has one share of the work and one kind of follower.
func (a *admin) assignment() (all []kmsg.CreateTopicsRequestTopicReplicaAssignment) {
	for p := range a.partitions {
		r := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		r.Partition = int32(p)
		for broker := range a.replicas {
			r.Replicas = append(r.Replicas, int32(broker+1))
		}
		all = append(all, r)
	}
	return all
}

// deleteWithin bounds the deletion of a topic.
const deleteWithin = 10 * time.Second

// close ends the client, and deletes the topic where the cluster goes on.
func (a *admin) close() error {
	defer a.client.Close()
	if !a.temporary {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), deleteWithin)
	defer cancel()
	answer, err := a.kadm.DeleteTopic(ctx, a.topic)
	if err == nil {
		err = answer.Err
	}
	if err != nil {
		return fmt.Errorf("delete topic %s: %w", a.topic, err)
	}
	return nil
}

// leaders waits until every partition has a leader that serves it and returns their
// addresses, by partition. Other brokers may hear of a leader before it does itself.
func (a *admin) leaders(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	for {
		m, err := a.kadm.Metadata(ctx, a.topic)
		if err != nil {
			return nil, fmt.Errorf("metadata of %s: %w", a.topic, err)
		}
		addresses := map[int32]string{}
		for _, b := range m.Brokers {
			addresses[b.NodeID] = net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
		}
		leaders, led := make([]string, a.partitions), 0
		for _, p := range m.Topics[a.topic].Partitions {
			if address := addresses[p.Leader]; p.Err == nil && address != "" && int(p.Partition) < a.partitions {
				leaders[p.Partition] = address
				led++
			}
		}
		var unserved error
		if led == a.partitions {
			if _, unserved = a.ends(ctx); unserved == nil {
				return leaders, nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("%d of %d partitions of %s have a leader: %w", led, a.partitions, a.topic, ctx.Err()), unserved)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// ends returns the log end offset of every partition.
func (a *admin) ends(ctx context.Context) ([]int64, error) {
	offsets, err := a.kadm.ListEndOffsets(ctx, a.topic)
	return a.listed("end", offsets, err)
}

// starts returns the log start offset of every partition; retention moves it.
func (a *admin) starts(ctx context.Context) ([]int64, error) {
	offsets, err := a.kadm.ListStartOffsets(ctx, a.topic)
	return a.listed("start", offsets, err)
}

func (a *admin) listed(which string, offsets kadm.ListedOffsets, err error) ([]int64, error) {
	if err == nil {
		err = offsets.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("%s offsets of %s: %w", which, a.topic, err)
	}
	out := make([]int64, a.partitions)
	offsets.Each(func(o kadm.ListedOffset) {
		if int(o.Partition) < len(out) {
			out[o.Partition] = o.Offset
		}
	})
	return out, nil
}

// count is the number of records that the load has put into the topic.
func (a *admin) count(ctx context.Context) (int64, error) {
	ends, err := a.ends(ctx)
	if err != nil {
		return 0, err
	}
	return total(ends) - a.begun, nil
}

func total(offsets []int64) (sum int64) {
	for _, o := range offsets {
		sum += o
	}
	return sum
}

// begin notes what the topic has before the load: leaders of the strategy quorum
// begin their epoch with a control batch.
func (a *admin) begin(ctx context.Context, strategy string) error {
	least := int64(0)
	if strategy == quorum {
		least = 1
	}
	deadline := time.Now().Add(controllerWithin)
	for {
		ends, err := a.ends(ctx)
		switch {
		case err != nil:
			return err
		case slices.Min(ends) >= least:
			a.begun = total(ends)
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("no control batch of %s is committed", a.topic)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// quorum is the replication strategy whose leaders begin with a control batch.
const quorum = "quorum"
