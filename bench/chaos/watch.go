package chaos

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"tidemark/bench/cluster"
)

// watchEvery is how often each broker is asked for its replicas.
const watchEvery = 40 * time.Millisecond

// watch asks every broker, again and again, and remembers what must not be.
type watch struct {
	rig    *Rig
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu       sync.Mutex
	strategy map[string]string // by topic, of the trial
	views    map[int32]view
	terms    map[term]tenure
	highest  map[life]mark
	wrong    map[string][]string // by topic
	backward map[string][]string // likewise, of high watermarks
}

// view is what a broker told last.
type view struct {
	at       time.Time
	replicas []cluster.Replica
}

type term struct {
	topic string
	epoch int32
}

// tenure is who leads in an epoch, and since when that was seen.
type tenure struct {
	leader int32
	since  time.Time
}

// life is a replica as long as its broker's process lives.
type life struct {
	broker int32
	pid    int
	topic  string
}

type mark struct {
	epoch     int32
	watermark int64
}

func (r *Rig) watch(strategy map[string]string) *watch {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watch{rig: r, cancel: cancel, strategy: strategy, views: map[int32]view{}, terms: map[term]tenure{}, highest: map[life]mark{}, wrong: map[string][]string{}, backward: map[string][]string{}}
	for _, id := range r.brokers {
		w.group.Go(func() { w.follow(ctx, id) })
	}
	return w
}

func (w *watch) stop() {
	w.cancel()
	w.group.Wait()
}

func (w *watch) follow(ctx context.Context, id int32) {
	for {
		if s, err := w.rig.State(); err == nil {
			i := slices.IndexFunc(s.Brokers, func(p cluster.Process) bool { return p.Broker == id })
			if told, err := s.Brokers[i].Ask(ctx); err == nil {
				w.take(told, s.Brokers[i].ID.Pid, time.Now())
			}
		}
		if !wait(ctx, watchEvery) {
			return
		}
	}
}

func (w *watch) take(told *cluster.Partitions, pid int, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.views[told.Broker] = view{now, told.Partitions}
	for i := range told.Partitions {
		p := &told.Partitions[i]
		strategy, ours := w.strategy[p.Topic]
		if !ours {
			continue
		}
		if p.Role == "leader" {
			w.leads(p, told.Broker, now)
		}
		if p.Strategy != strategy {
			w.blame(p.Topic, "broker %d runs it as %s", told.Broker, p.Strategy)
		}
		l, m := life{told.Broker, pid, p.Topic}, mark{p.LeaderEpoch, p.Watermark}
		before, known := w.highest[l]
		if known && m.epoch < before.epoch {
			w.blame(p.Topic, "broker %d tells of leader epoch %d after %d", told.Broker, m.epoch, before.epoch)
		}
		if known && m.watermark < before.watermark && strategy != "async" {
			w.back(p.Topic, "broker %d tells of high watermark %d after %d", told.Broker, m.watermark, before.watermark)
		}
		w.highest[l] = m
	}
}

// leads notes a broker that says that it leads.
func (w *watch) leads(p *cluster.Replica, broker int32, now time.Time) {
	t := term{p.Topic, p.LeaderEpoch}
	known, ok := w.terms[t]
	if !ok {
		w.terms[t] = tenure{broker, now}
	} else if known.leader != broker {
		w.blame(p.Topic, "brokers %d and %d lead in epoch %d", known.leader, broker, p.LeaderEpoch)
	}
}

func (w *watch) blame(topic, format string, args ...any) {
	w.wrong[topic] = append(w.wrong[topic], fmt.Sprintf(format, args...))
}

func (w *watch) back(topic, format string, args ...any) {
	w.backward[topic] = append(w.backward[topic], fmt.Sprintf(format, args...))
}

// latest is who led a topic in the highest epoch seen.
func (w *watch) latest(topic string) (epoch int32, t tenure) {
	w.mu.Lock()
	defer w.mu.Unlock()
	epoch = -1
	for k, v := range w.terms {
		if k.topic == topic && k.epoch > epoch {
			epoch, t = k.epoch, v
		}
	}
	return epoch, t
}

// after is the first tenure seen in an epoch above one.
func (w *watch) after(topic string, epoch int32) (first tenure, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, v := range w.terms {
		if k.topic == topic && k.epoch > epoch && (!ok || v.since.Before(first.since)) {
			first, ok = v, true
		}
	}
	return first, ok
}

// replicas is what each broker told last of a topic.
func (w *watch) replicas(topic string) map[int32]cluster.Replica {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[int32]cluster.Replica{}
	for id, v := range w.views {
		for _, p := range v.replicas {
			if p.Topic == topic && time.Since(v.at) < 2*time.Second {
				out[id] = p
			}
		}
	}
	return out
}

// whole says what a topic still lacks: a leader, a replica in sync, a record.
func (w *watch) whole(topic string, brokers []int32) error {
	epoch, t := w.latest(topic)
	told := w.replicas(topic)
	leader, ok := told[t.leader]
	if !ok || leader.Role != "leader" || leader.LeaderEpoch != epoch {
		return fmt.Errorf("%s has no leader; broker %d led in epoch %d", topic, t.leader, epoch)
	}
	if len(leader.ISR) < len(brokers) || leader.Pending || leader.Watermark < leader.End {
		return fmt.Errorf("%s: of epoch %d, in sync %v (pending %v), high watermark %d, log end %d, %s", topic, epoch, leader.ISR, leader.Pending, leader.Watermark, leader.End, leader.Waiting)
	}
	for _, id := range brokers {
		if r, ok := told[id]; !ok || r.End != leader.End || r.LeaderEpoch != epoch || r.Watermark != leader.Watermark {
			return fmt.Errorf("%s: broker %d has %d to %d, high watermark %d, in epoch %d (told: %v); leader %d has %d in %d",
				topic, id, r.Start, r.End, r.Watermark, r.LeaderEpoch, ok, t.leader, leader.End, epoch)
		}
	}
	return nil
}

// faults are the things seen of a topic that must not be, and high watermarks that
// went back, which they must not where nothing may be lost.
func (w *watch) faults(topic string) (wrong, backward []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return few(w.wrong[topic]), few(w.backward[topic])
}

// few is a list, or its start.
func few(list []string) []string { return slices.Clone(list[:min(len(list), maxWrong)]) }
