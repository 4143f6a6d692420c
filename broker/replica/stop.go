package replica

import (
	"errors"
	"fmt"

	"tidemark/commitlog"
	"tidemark/replication"
)

// StopReplicas is Stop of each, but of those whose replica knows a later leader
// epoch. Errors are in the order of the list.
func (m *Manager) StopReplicas(list []Stopping) []error {
	errs := make([]error, len(list))
	for i := range list {
		s := &list[i]
		if p := m.Partition(s.Topic, s.Partition); p != nil && s.LeaderEpoch > AnyEpoch {
			if _, epoch := p.Leader(); s.LeaderEpoch < epoch {
				errs[i] = ErrFencedEpoch
				continue
			}
		}
		errs[i] = m.Stop([]ID{s.ID}, s.Delete)
	}
	return errs
}

// Stop ends the service of partitions and, with remove, deletes their logs; others stay
// open for a later Apply. Unknown ones are skipped.
func (m *Manager) Stop(ids []ID, remove bool) error {
	var errs []error
	m.mu.Lock()
	var stopped []*Partition
	for _, id := range ids {
		if p := m.Partition(id.Topic, id.Partition); p != nil {
			stopped = append(stopped, p)
		} else if f := m.found[id]; f != nil && remove {
			errs = append(errs, m.removeFound(id, f))
		}
	}
	errs = append(errs, m.stop(stopped, remove))
	m.mu.Unlock()
	for _, p := range stopped {
		p.Changed.Wake()
	}
	return errors.Join(errs...)
}

// stop takes partitions off the map, then shelves or deletes their logs. A deleted
// log leaves the checkpoints first: a later one of its name must not be trusted
// for what was known of it. Manager's mu is held.
func (m *Manager) stop(partitions []*Partition, remove bool) error {
	dirs := make(map[*logDir]bool)
	for _, p := range partitions {
		m.detach(p)
		dirs[p.dir] = true
	}
	if remove {
		for d := range dirs {
			d.checkpointAll()
		}
	}
	var errs []error
	for _, p := range partitions {
		if !remove {
			m.shelve(p)
			continue
		}
		if err := m.remove(p.log); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", p.ID(), err))
		}
	}
	return errors.Join(errs...)
}

// shelve keeps the log of a stopped partition as if it had been found at start, for
// whoever claims it again.
func (m *Manager) shelve(p *Partition) {
	id := p.ID()
	p.dir.remember(p)
	gaveUp := p.damage.gaveUp.Load()
	m.found[id] = &foundLog{
		log: p.log, dir: p.dir, topicID: p.Topic.ID, appendEngine: p.Topic.Config().AppendEngine,
		suspect: p.suspect.Load() || gaveUp, gaveUp: gaveUp,
	}
}

// detach ends the service of a partition; its log stays open.
func (m *Manager) detach(p *Partition) {
	p.halt(func(l *leadership) { l.stopped, l.leader = true, replication.NoBroker })
	p.Topic.set(p.Index, nil)
	if t := p.Topic; t.empty() && m.Topic(t.Name) == t {
		m.publish(func(x *index) {
			delete(x.byName, t.Name)
			delete(x.byID, t.ID)
		})
	}
	p.dir.forget(p)
}

// removeFound deletes a log that was found at start.
func (m *Manager) removeFound(id ID, f *foundLog) error {
	delete(m.found, id)
	f.dir.dropCheckpoints(id)
	f.dir.checkpointAll()
	return m.remove(f.log)
}

// remove deletes a log and leaves it to the background to wait for its readers: the
// controller waits for this call, and a consumer may take minutes for a response.
func (m *Manager) remove(l *commitlog.Log) error {
	release, err := l.Remove()
	m.background.Go(release)
	return err
}
