package replica

import (
	"errors"
	"sync"
	"time"

	"tidemark/internal/clock"
)

// task repeats a function by the clock; its runs never overlap.
type task struct {
	clock    clock.Clock
	interval time.Duration
	run      func()

	mu      sync.Mutex // held while run runs
	timer   clock.Timer
	stopped bool
}

func (t *task) start() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = t.clock.AfterFunc(t.interval, t.fire)
}

func (t *task) fire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return
	}
	t.run()
	t.timer = t.clock.AfterFunc(t.interval, t.fire)
}

// stop returns once no run is under way and none will begin.
func (t *task) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	t.timer.Stop()
}

// retrySyncInterval is how long those wait whose sync found no room.
const retrySyncInterval = 5 * time.Second

// ticksPerLag is how often the machines are told the time within replica.lag.time.max.ms.
const ticksPerLag = 6

// tick tells the machines the time, and a registration that has changed.
func (m *Manager) tick() {
	if epoch := m.brokerEpoch(); epoch != m.knownEpoch {
		m.knownEpoch = epoch
		m.BrokerEpochChanged()
	}
	for _, p := range m.partitions() {
		p.tick()
	}
}

// startTasks begins the schedule.
func (m *Manager) startTasks() {
	m.startCleaners()
	for _, t := range []struct {
		interval time.Duration
		run      func()
	}{
		{m.o.RetentionCheckInterval, m.applyRetention},
		{m.o.RecoveryCheckpointInterval, m.eachDir((*logDir).checkpointRecoveryPoints)},
		{m.o.LogStartCheckpointInterval, m.eachDir((*logDir).checkpointLogStarts)},
		{m.o.HighWatermarkCheckpointInterval, m.eachDir((*logDir).checkpointHighWatermarks)},
		{m.o.ProducerExpiryCheckInterval, m.expireProducers},
		{retrySyncInterval, m.retrySyncs},
		{max(m.o.LagTimeMax/ticksPerLag, time.Millisecond), m.tick},
	} {
		if t.interval <= 0 {
			continue
		}
		task := &task{clock: m.o.Clock, interval: t.interval, run: t.run}
		m.tasks = append(m.tasks, task)
		task.start()
	}
}

func (m *Manager) eachDir(f func(*logDir)) func() {
	return func() {
		for _, d := range m.dirs {
			f(d)
		}
	}
}

// applyRetention deletes what topics no longer keep.
func (m *Manager) applyRetention() {
	now := m.o.Clock.Now()
	for _, p := range m.partitions() {
		if p.dir.offline.Load() {
			continue
		}
		deleted, err := p.log.ApplyRetention(now, p.HighWatermark())
		if err != nil {
			m.backgroundFailed("apply retention", p, err)
		} else if deleted > 0 {
			p.stepping.Lock()
			p.logStartMoved()
			p.stepping.Unlock()
			m.o.Logger.Info("old segments were deleted", "partition", p.ID().String(), "segments", deleted)
		}
	}
}

func (m *Manager) expireProducers() {
	now := m.o.Clock.Now()
	for _, p := range m.partitions() {
		p.log.ExpireProducers(now)
	}
}

// backgroundFailed deals with an error that nobody waits for.
func (m *Manager) backgroundFailed(operation string, p *Partition, err error) {
	if err = p.failed(operation, err); !errors.Is(err, ErrStorage) && !p.lead.Load().stopped {
		m.o.Logger.Warn("background work failed", "operation", operation, "partition", p.ID().String(), "error", err)
	}
}
