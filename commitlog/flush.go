package commitlog

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"syscall"
	"time"
)

func (l *Log) path(name string) string { return filepath.Join(l.dir, name) }

// Flush returns once everything appended before the call is on stable storage:
// batches, the files' names, of rolled segments the indexes too. The indexes of
// the active segment may lack entries: a restart that needs them rebuilds them.
// An error is final: the log takes no more appends. Appends go on meanwhile.
func (l *Log) Flush() error { return l.flushUsable(false) }

// Sync is Flush that syncs the active segment also where everything is on stable
// storage already, so that each call costs one sync of the file at least.
func (l *Log) Sync() error { return l.flushUsable(true) }

func (l *Log) flushUsable(always bool) error {
	l.maintenance.Lock()
	defer l.maintenance.Unlock()
	l.mu.Lock()
	err := l.usable()
	l.mu.Unlock()
	if err != nil {
		return err
	}
	return l.flush(always)
}

// flush is Flush or Sync; maintenance is held.
func (l *Log) flush(always bool) error {
	for {
		if err := l.sealAll(); err != nil {
			return err
		}
		l.mu.Lock()
		rolled := len(l.sealing) > 0
		appender, end := l.appender, l.view.end
		l.mu.Unlock()
		if rolled {
			continue // Since sealAll; what end covers is not all in appender.
		}
		if !always && end == l.recoveryPoint.Load() && !l.namesChanged.Load() {
			return nil
		}
		if err := appender.Flush(); err != nil {
			return l.fail(fmt.Errorf("flush: %w", err))
		}
		if err := errors.Join(l.syncNames(), l.flushAborted()); err != nil {
			return l.sealFailed(fmt.Errorf("flush: %w", err))
		}
		l.advanceRecoveryPoint(end)
		return nil
	}
}

// syncNames makes the names of new files durable. Where there was no descriptor left
// to open the directory with, nothing was tried and nothing is lost: the next call
// tries.
func (l *Log) syncNames() error {
	if !l.namesChanged.Swap(false) {
		return nil
	}
	err := l.fs.SyncDir(l.dir)
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		l.namesChanged.Store(true)
		return noRoomError{err}
	}
	return err
}

// advanceRecoveryPoint raises the recovery point; maintenance is held.
func (l *Log) advanceRecoveryPoint(offset int64) {
	if offset > l.recoveryPoint.Load() && !l.unsyncedAborted {
		l.recoveryPoint.Store(offset)
	}
}

// flushDue says whether flush.messages is reached; mu is held.
func (l *Log) flushDue(o *Options) bool {
	return l.view.end-l.recoveryPoint.Load() >= o.FlushMessages
}

// armFlush sets the timer of flush.ms after an append; mu is held.
func (l *Log) armFlush() {
	flushMs := l.options.Load().FlushMs
	if l.flushArmed || flushMs > math.MaxInt64/int64(time.Millisecond) {
		return
	}
	l.flushArmed = true
	l.after(time.Duration(flushMs)*time.Millisecond, func() {
		l.mu.Lock()
		l.flushArmed = false
		l.mu.Unlock()
		_ = l.Flush() // Kept as the log's failure; the next append reports it.
	})
}

// after runs f once, d from now, unless the log is closed before; mu is held.
func (l *Log) after(d time.Duration, f func()) {
	t := &timer{}
	l.timers[t] = struct{}{}
	l.tasks.Add(1)
	t.Timer = l.clock.AfterFunc(d, func() {
		defer l.tasks.Done()
		l.mu.Lock()
		delete(l.timers, t)
		l.mu.Unlock()
		f()
	})
}

// stopTimers prevents the calls that after planned; mu is held.
func (l *Log) stopTimers() {
	for t := range l.timers {
		if t.Stop() {
			l.tasks.Done()
		}
	}
	clear(l.timers)
}
