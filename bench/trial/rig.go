package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/bench/ledger"
	"tidemark/bench/result"
	"tidemark/bench/schedule"
	"tidemark/bench/target"
	"tidemark/bench/workload"
)

// Rig is a broker with a topic for each cell, and the ledger of all that was
// produced to it. It is confined to one goroutine.
type Rig struct {
	options Options
	ledger  *ledger.Ledger
	target  *target.Target
	// unavailable is how long each cell took from the last restart to its first
	// answer.
	unavailable []time.Duration
}

// Open starts the broker on a fresh directory and creates the topics.
func Open(ctx context.Context, o Options) (*Rig, error) {
	if o.RecordBytes < ledger.HeaderBytes {
		return nil, fmt.Errorf("records of %d bytes: a record's header takes %d", o.RecordBytes, ledger.HeaderBytes)
	}
	r := &Rig{options: o, ledger: ledger.New(uint32(o.Seed) ^ uint32(o.Seed>>32)), unavailable: make([]time.Duration, len(o.Cells))}
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	if err := r.create(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Rig) start(ctx context.Context) (err error) {
	o := target.Options{Executable: r.options.Executable, Dir: r.options.Dir, Load: workload.Load{Target: "process", Broker: r.options.Broker}}
	if r.options.Fault == result.PowerCut {
		o.Flags = []string{"--powercut-record", r.options.recordDir()}
	}
	r.target, err = target.Start(ctx, o)
	return err
}

// topic is the name of a cell's topic.
func (r *Rig) topic(cell int) string { return "cell-" + strconv.Itoa(cell) }

// account is the books of a cell's only producer.
func (r *Rig) account(cell int) *ledger.Account {
	return r.ledger.Account(ledger.Stream{Topic: uint16(cell)})
}

// client connects to the broker; the caller closes it.
func (r *Rig) client(o ...kgo.Opt) (*kgo.Client, error) {
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(r.target.Bootstrap), kgo.ClientID("tidemark-trial"), kgo.MetadataMinAge(10 * time.Millisecond)}, o...)...)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return c, nil
}

// create creates a topic of one partition for each cell.
func (r *Rig) create(ctx context.Context) error {
	c, err := r.client()
	if err != nil {
		return err
	}
	defer c.Close()
	admin := kadm.NewClient(c)
	for i, cell := range r.options.Cells {
		configs := map[string]*string{}
		for name, value := range cell.Topic {
			configs[name] = &value
		}
		err := retried(ctx, func() error {
			answer, err := admin.CreateTopic(ctx, 1, 1, configs, r.topic(i))
			if err == nil {
				err = answer.Err
			}
			if err != nil && answer.ErrMessage != "" {
				err = fmt.Errorf("%w: %s", err, answer.ErrMessage)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("create a topic with %v: %w", cell.Topic, err)
		}
	}
	return nil
}

// retried tries again while the error is one that passes, until ctx ends.
func retried(ctx context.Context, do func() error) error {
	for {
		err := do()
		if err == nil || !kerr.IsRetriable(err) && !kgo.IsRetryableBrokerErr(err) || ctx.Err() != nil {
			return err
		}
		timer := time.NewTimer(5 * time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// Fault is when the broker was killed.
type Fault struct {
	// AtNs is schedule.Now's, After how long the load had run.
	AtNs  int64
	After time.Duration
}

// LoadAndKill produces to every cell until each has an acknowledgement and then
// for phase, and kills the broker in the midst of it. What had no answer by then is
// unknown to the ledger. acks is 1 or all.
func (r *Rig) LoadAndKill(ctx context.Context, phase time.Duration, acks string) (Fault, error) {
	began := time.Now()
	l, err := r.produce(ctx, acks)
	if err != nil {
		return Fault{}, err
	}
	err = l.await(ctx, phase)
	l.faulted.Store(true)
	f := Fault{AtNs: schedule.Now(), After: time.Since(began)}
	err = errors.Join(err, r.target.Stop())
	l.stop()
	return f, errors.Join(err, l.failure())
}

// Debts are the durability debts of a power cut, by topic.
type Debts map[string]int64

// of is the debt of a cell's only partition, -1 where the record has none.
func (d Debts) of(topic string) int64 {
	if debt, ok := d[topic+"-0"]; ok {
		return debt
	}
	return -1
}

// Cut takes from the dead broker's files what a power cut would have: everything
// that was not synced, but for what the seed keeps. torn is sector or page.
func (r *Rig) Cut(ctx context.Context, seed uint64, torn string) (Debts, error) {
	program, err := target.Program(r.options.Executable)
	if err != nil {
		return nil, err
	}
	cut := exec.CommandContext(ctx, program, "log", "cut", r.options.recordDir(), "--seed", strconv.FormatUint(seed, 10), "--torn", torn, "--json")
	out, err := cut.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("power cut: %w", err)
	}
	return parseDebts(out)
}

// parseDebts reads what `log cut --json` prints.
func parseDebts(out []byte) (Debts, error) {
	var said struct {
		Debt []struct {
			Partition string `json:"partition"`
			Records   int64  `json:"debt_records"`
		} `json:"debt"`
	}
	if err := json.Unmarshal(out, &said); err != nil {
		return nil, fmt.Errorf("what the power cut printed: %w", err)
	}
	d := Debts{}
	for _, p := range said.Debt {
		d[p.Partition] = p.Records
	}
	return d, nil
}

// Restart starts a broker on what is left, and waits until it answers about every
// cell.
func (r *Rig) Restart(ctx context.Context) error {
	began := time.Now()
	if err := r.start(ctx); err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	c, err := r.client()
	if err != nil {
		return err
	}
	defer c.Close()
	admin := kadm.NewClient(c)
	for i := range r.options.Cells {
		err := retried(ctx, func() error {
			ends, err := admin.ListEndOffsets(ctx, r.topic(i))
			if err == nil {
				err = ends.Error()
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("after the restart, %s: %w", r.options.Cells[i].Label, err)
		}
		r.unavailable[i] = time.Since(began)
	}
	return nil
}

// Close kills the broker.
func (r *Rig) Close() error { return r.target.Stop() }
