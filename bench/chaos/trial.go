package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/bench/ledger"
	"tidemark/bench/process"
)

// Trial is fresh topics under load, and what is done to the cluster meanwhile. It is
// confined to one goroutine.
type Trial struct {
	rig    *Rig
	cells  []*producing
	ledger *ledger.Ledger
	watch  *watch
	reader *reader

	cancel context.CancelFunc
	load   sync.WaitGroup
	ended  bool
}

// servesWithin bounds what a cluster without faults may take for anything.
const servesWithin = 90 * time.Second

// Begin creates a topic for each cell, led by the broker first, starts the load and
// waits until each cell has an acknowledgement. The caller ends the trial.
func (r *Rig) Begin(ctx context.Context, first int32, cells ...Cell) (*Trial, error) {
	r.trials++
	t := &Trial{rig: r, ledger: ledger.New(uint32(time.Now().UnixNano()))}
	strategies := map[string]string{}
	for i, c := range cells {
		p := &producing{Cell: c, topic: c.Name + "-" + strconv.Itoa(r.trials), number: uint16(i), bytes: r.options.RecordBytes}
		p.account = t.ledger.Account(ledger.Stream{Topic: p.number})
		t.cells = append(t.cells, p)
		strategies[p.topic] = c.Strategy
	}
	if err := t.create(ctx, append([]int32{first}, r.Others(first)...)); err != nil {
		return nil, err
	}
	t.watch = r.watch(strategies)
	loading, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t.cancel = cancel
	err := t.start(loading)
	if err == nil {
		err = t.awaitAcks(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, t.End(ctx))
	}
	return t, nil
}

func (t *Trial) start(ctx context.Context) (err error) {
	if t.reader, err = t.rig.follow(t.cells); err != nil {
		return err
	}
	for _, p := range t.cells {
		if p.client, err = t.rig.produces(p); err != nil {
			return err
		}
		t.load.Go(func() { p.run(ctx) })
	}
	return nil
}

// create creates the topics with the replicas given.
func (t *Trial) create(ctx context.Context, replicas []int32) error {
	c, err := t.rig.client()
	if err != nil {
		return err
	}
	defer c.Close()
	request := kmsg.NewPtrCreateTopicsRequest()
	request.TimeoutMillis = int32(servesWithin.Milliseconds())
	for _, p := range t.cells {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = p.topic, -1, -1
		topic.ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Partition: 0, Replicas: replicas}}
		set := func(name, value string) {
			topic.Configs = append(topic.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: name, Value: &value})
		}
		set("replication.strategy", p.Strategy)
		for name, value := range p.Topic {
			set(name, value)
		}
		request.Topics = append(request.Topics, topic)
	}
	answer, err := request.RequestWith(ctx, c)
	if err != nil {
		return fmt.Errorf("create topics: %w", err)
	}
	var errs []error
	for _, topic := range answer.Topics {
		if err := kerr.ErrorForCode(topic.ErrorCode); err != nil {
			errs = append(errs, fmt.Errorf("create %s: %w", topic.Topic, err))
		}
	}
	return errors.Join(errs...)
}

// awaitAcks returns when every cell has had an acknowledgement, and who leads it has been
// seen.
func (t *Trial) awaitAcks(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, servesWithin)
	defer cancel()
	for i, p := range t.cells {
		for p.acked.Load() == 0 {
			if !wait(ctx, tick) {
				return fmt.Errorf("%s: no acknowledgement within %s; %v", p.topic, servesWithin, p.said())
			}
		}
		for _, epoch := t.Leader(i); epoch < 0; _, epoch = t.Leader(i) {
			if !wait(ctx, tick) {
				return fmt.Errorf("%s: no broker said within %s that it leads", p.topic, servesWithin)
			}
		}
	}
	return nil
}

// Leader is who leads a cell in the highest epoch seen.
func (t *Trial) Leader(cell int) (broker, epoch int32) {
	epoch, who := t.watch.latest(t.cells[cell].topic)
	return who.leader, epoch
}

// Topic is the name of a cell's topic.
func (t *Trial) Topic(cell int) string { return t.cells[cell].topic }

// Acked is how many records of a cell have been acknowledged so far.
func (t *Trial) Acked(cell int) int64 { return t.cells[cell].acked.Load() }

// Books is what was sent to a cell and acknowledged so far.
func (t *Trial) Books(cell int) ledger.View { return t.cells[cell].account.View() }

// Await waits until so holds, for as long as within.
func (t *Trial) Await(ctx context.Context, what string, within time.Duration, so func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for !so() {
		if !wait(ctx, watchEvery/4) {
			return fmt.Errorf("%s have passed, and not yet: %s", within, what)
		}
	}
	return nil
}

// InSync is the ISR of a cell as its leader told last.
func (t *Trial) InSync(cell int) []int32 {
	leader, _ := t.Leader(cell)
	isr := slices.Clone(t.watch.replicas(t.cells[cell].topic)[leader].ISR)
	slices.Sort(isr)
	return isr
}

// AwaitInSync waits until the ISR of a cell has so many members.
func (t *Trial) AwaitInSync(ctx context.Context, cell, members int) error {
	err := t.Await(ctx, fmt.Sprintf("%d members in the ISR of %s", members, t.cells[cell].topic), servesWithin,
		func() bool { return len(t.InSync(cell)) == members })
	if err != nil {
		return fmt.Errorf("%w; it is %v", err, t.InSync(cell))
	}
	return nil
}

// AwaitEpoch waits until somebody leads a cell in an epoch above one, and returns who
// was the first and when.
func (t *Trial) AwaitEpoch(ctx context.Context, cell int, above int32, within time.Duration) (leader int32, at time.Time, err error) {
	topic := t.cells[cell].topic
	err = t.Await(ctx, fmt.Sprintf("%s: somebody leads in an epoch above %d", topic, above), within, func() bool {
		_, ok := t.watch.after(topic, above)
		return ok
	})
	first, _ := t.watch.after(topic, above)
	return first.leader, first.since, err
}

// Mend ends all faults: links pass, who is paused goes on, who is gone is started.
func (r *Rig) Mend(ctx context.Context) error {
	err := r.Heal(ctx)
	s, e := r.State()
	if e != nil {
		return errors.Join(err, e)
	}
	for _, b := range s.Brokers {
		switch b.State() {
		case process.Paused:
			err = errors.Join(err, r.Resume(b.Broker))
		case process.Gone:
			err = errors.Join(err, r.Restart(ctx, b.Broker))
		}
	}
	return err
}

// wholeWithin bounds the time from the end of all faults to replicas that are equal.
const wholeWithin = 90 * time.Second

// Settle ends all faults, loads for a while longer, lets all that was sent be
// acknowledged, and waits until every replica has everything.
func (t *Trial) Settle(ctx context.Context, longer time.Duration) error {
	if err := t.rig.Mend(ctx); err != nil {
		return err
	}
	if !wait(ctx, longer) {
		return ctx.Err()
	}
	if err := t.drain(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, wholeWithin)
	defer cancel()
	for _, p := range t.cells {
		for {
			err := t.watch.whole(p.topic, t.rig.brokers)
			if err == nil {
				break
			}
			if !wait(ctx, watchEvery/2) {
				return fmt.Errorf("%s after the faults: %w", wholeWithin, err)
			}
		}
	}
	return nil
}

// drain stops the load and waits for what is on its way.
func (t *Trial) drain(ctx context.Context) error {
	if t.ended {
		return nil
	}
	t.ended = true
	ctx, cancel := context.WithTimeout(ctx, wholeWithin)
	defer cancel()
	t.cancel()
	t.load.Wait()
	var errs []error
	for _, p := range t.cells {
		if err := p.client.Flush(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %d of %d records acknowledged, and then for %s none: %w; %v", p.topic, p.acked.Load(), p.sent.Load(), wholeWithin, err, p.said()))
		}
		p.client.Close() // fails what is left
	}
	return errors.Join(errs...)
}

// End stops all that the trial does and deletes its topics.
func (t *Trial) End(ctx context.Context) error {
	if !t.ended {
		t.ended = true
		t.cancel()
		for _, p := range t.cells {
			if p.client != nil {
				p.client.Close()
			}
		}
		t.load.Wait()
	}
	if t.reader != nil {
		t.reader.stop()
	}
	t.watch.stop()
	c, err := t.rig.client()
	if err != nil {
		return err
	}
	defer c.Close()
	var topics []string
	for _, p := range t.cells {
		topics = append(topics, p.topic)
	}
	ctx, cancel := context.WithTimeout(ctx, servesWithin)
	defer cancel()
	if _, err := kadm.NewClient(c).DeleteTopics(ctx, topics...); err != nil {
		return fmt.Errorf("delete topics: %w", err)
	}
	return nil
}

// said is what records of the cell failed with.
func (p *producing) said() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[string]int{}
	for text, n := range p.errors {
		out[text] = n
	}
	return out
}
