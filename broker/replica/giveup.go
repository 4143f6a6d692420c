package replica

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"tidemark/commitlog"
	"tidemark/replication"
)

// A replica that finds its own log damaged, when somebody reads or it is compacted, gives
// itself up where others can serve in its place: it is offline until the next start,
// which checks the whole log, cuts it at the damage and has the rest fetched again. In
// Kafka only an IOException does that, to the whole log directory; a follower that gets a
// damaged batch asks for it for ever, and a consumer fails.

// damage is what a replica knows of its log being damaged.
type damage struct {
	// gaveUp: the replica is offline until the next start.
	gaveUp atomic.Bool
	// looking: somebody finds out whether others can serve. told: it was logged.
	looking, told atomic.Bool
}

// offline reports whether the replica serves no more in this process.
func (p *Partition) offline() bool { return p.dir.offline.Load() || p.damage.gaveUp.Load() }

// damaged tells bytes that are no batches, or cannot be read, from every other error.
func damaged(err error) bool {
	var corrupt *commitlog.CorruptError
	return errors.As(err, &corrupt) || errors.Is(err, syscall.EIO)
}

// foundDamage deals with damage of the log. Locks may be held.
func (p *Partition) foundDamage(cause error) {
	if p.damage.told.CompareAndSwap(false, true) {
		p.manager.o.Logger.Error("log is damaged", "partition", p.ID().String(), "dir", p.dir.path, "error", cause)
	}
	if len(p.lead.Load().replicas) < 2 || p.damage.gaveUp.Load() || !p.damage.looking.CompareAndSwap(false, true) {
		return
	}
	p.background.Go(func() {
		defer p.damage.looking.Store(false)
		if p.replaceable() {
			p.giveUp(cause)
		}
	})
}

// replaceable reports whether others can lead in this replica's place, with all that was
// acknowledged: where they cannot, what is not damaged is better served than nothing.
func (p *Partition) replaceable() bool {
	l := p.lead.Load()
	if l.leader != p.self {
		return l.leader >= 0
	}
	p.stepping.Lock()
	s := p.machine.Status()
	p.stepping.Unlock()
	now, ready, need := p.manager.now(), 0, 1
	if p.promise == replication.Majority {
		need = len(l.replicas)/2 + 1
	}
	for _, f := range s.Followers {
		if f.InSync && f.LogEndOffset >= s.HighWatermark && now-f.LastCaughtUp <= p.manager.o.LagTimeMax {
			ready++
		}
	}
	return s.Role == replication.Leader && ready >= need
}

// giveUp ends the replica's service and tells the controller, which asks what is offline.
func (p *Partition) giveUp(cause error) {
	if !p.damage.gaveUp.CompareAndSwap(false, true) {
		return
	}
	p.manager.o.Logger.Error("replica goes offline, and others serve: restart the broker to have it checked and fetched again", "partition", p.ID().String())
	// A replica that was deleted meanwhile has no place for the mark, and needs none.
	if err := writeSuspect(p.dir.fs, p.log.Dir(), cause.Error()); err != nil && !p.lead.Load().stopped {
		p.dir.fail(fmt.Errorf("mark %s: %w", filepath.Base(p.log.Dir()), err))
	}
	p.halt(func(*leadership) {})
	p.Changed.Wake()
	if offline := p.manager.o.Offline; offline != nil {
		offline()
	}
}
