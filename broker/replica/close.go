package replica

import (
	"errors"
	"fmt"
	"sync"

	"tidemark/commitlog/checkpoint"
	"tidemark/replication"
)

// Close ends the schedule, closes every log, several of a directory at a time, writes
// the checkpoints and, where all went well, the clean-shutdown marker with the broker
// epoch that ends. What took a directory offline was told then and is no error here.
func (m *Manager) Close(brokerEpoch int64) error {
	m.stopCleaners()
	if m.fetchers != nil {
		m.fetchers.close()
	}
	for _, t := range m.tasks {
		t.stop()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	m.closed = true
	c := closing{failed: make(map[*logDir]bool)}
	m.closeLogs(&c)
	m.closeDevices() // First: what they run may start something in the background.
	m.background.Wait()
	for _, d := range m.dirs {
		if !c.failed[d] {
			d.checkpointAll()
		}
		if !c.failed[d] && !d.offline.Load() {
			c.note(d, "mark clean shutdown", checkpoint.WriteCleanShutdown(d.fs, d.path, brokerEpoch))
		}
		c.note(d, "unlock", d.lock.Close())
	}
	return errors.Join(c.errs...)
}

// closing collects what Close meets.
type closing struct {
	mu     sync.Mutex // guards both
	failed map[*logDir]bool
	errs   []error
}

func (c *closing) note(d *logDir, what string, err error) {
	if err == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed[d] = true
	if !d.offline.Load() {
		c.errs = append(c.errs, fmt.Errorf("%s: %w", what, err))
	}
}

// closeLogs closes every log with as many goroutines a directory as opened them:
// each log has files to sync.
func (m *Manager) closeLogs(c *closing) {
	logs := make(map[*logDir][]func())
	for id, f := range m.found {
		logs[f.dir] = append(logs[f.dir], func() { c.note(f.dir, "close "+id.String(), f.log.Close()) })
	}
	for _, p := range m.partitions() {
		logs[p.dir] = append(logs[p.dir], func() { c.note(p.dir, "close "+p.ID().String(), p.close()) })
	}
	var all sync.WaitGroup
	for _, list := range logs {
		eachAtOnce(&all, m.recoveryThreads(), list, func(end func()) { end() })
	}
	all.Wait()
}

// eachAtOnce starts at most so many goroutines that call do for every item.
func eachAtOnce[T any](all *sync.WaitGroup, goroutines int, items []T, do func(T)) {
	next := make(chan T, len(items))
	for _, item := range items {
		next <- item
	}
	close(next)
	for range min(goroutines, len(items)) {
		all.Go(func() {
			for item := range next {
				do(item)
			}
		})
	}
}

// close ends the service of the partition and closes its log.
func (p *Partition) close() error {
	p.halt(func(l *leadership) { l.leader = replication.NoBroker })
	return p.log.Close()
}
