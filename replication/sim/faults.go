package sim

import (
	"fmt"
	"time"
)

// FaultKind is a kind of fault.
type FaultKind uint8

// The kinds.
const (
	// Crash: kill -9, the page cache survives; back after For.
	Crash FaultKind = iota
	// PowerCut: what was not synced is gone, or a part of it.
	PowerCut
	// Wipe: the disk comes back empty, under another directory id.
	Wipe
	// Pause: SIGSTOP; everything waits until SIGCONT.
	Pause
	// Slow: everything the broker does takes longer.
	Slow
	// Isolate: cut from everybody, both ways.
	Isolate
	// CutPair: two brokers do not reach each other.
	CutPair
	// CutOneWay: one broker does not reach another.
	CutOneWay
	// CutZooKeeper: cut from ZooKeeper only.
	CutZooKeeper
	// Clog: what is sent from the broker arrives only when the fault ends.
	Clog
	// Swizzle: links clog one by one and are released in another order.
	Swizzle
	// Reset: every connection of the broker breaks.
	Reset
	// ZooKeeperDown: the ensemble answers nothing.
	ZooKeeperDown
	// Expire: the ensemble ends the broker's session; the broker is not told.
	Expire
	// FsyncSlow: an fsync takes fifty times as long.
	FsyncSlow
	// FsyncFail: the next fsync fails; final.
	FsyncFail
	// CleanRestart: a controlled shutdown and a start.
	CleanRestart
	// MoveLeader: the controller elects another member.
	MoveLeader
	// Chase: every leader is crashed soon after it took office, some of them cut
	// off from the other replicas first.
	Chase
	// ChaseJoin: every replica that is proposed for the ISR loses its power or its
	// disk, and is back before the controller hears of the proposal.
	ChaseJoin
	faultKinds
)

var faultNames = [faultKinds]string{
	"crash", "power-cut", "wipe", "pause", "slow", "isolate", "cut-pair", "cut-one-way", "cut-zookeeper", "clog", "swizzle", "reset",
	"zookeeper-down", "expire", "fsync-slow", "fsync-fail", "clean-restart", "move-leader", "chase", "chase-join",
}

// String is the kind's name.
func (k FaultKind) String() string { return faultNames[k] }

// target says whom a fault hits; it is looked up when the fault begins.
type target uint8

const (
	anybody target = iota
	theLeader
	aFollower
	theController
	targets
)

var targetNames = [targets]string{"a broker", "the leader", "a follower", "the controller"}

// Fault is one planned fault.
type Fault struct {
	// Number is its place in the plan; shrinking keeps it.
	Number int
	Kind   FaultKind
	At     time.Duration
	For    time.Duration
	who    target
	// draw picks among those who could be hit.
	draw int
}

// String is the fault in a line.
func (f Fault) String() string {
	return fmt.Sprintf("fault %d: %s of %s at %s for %s", f.Number, f.Kind, targetNames[f.who], f.At.Round(ms), f.For.Round(ms))
}

// planFaults enables a random half of the kinds and draws how often they come.
func planFaults(o Options, r *random) []Fault {
	var enabled []FaultKind
	for k := range faultKinds {
		if r.chance(500) {
			enabled = append(enabled, k)
		}
	}
	var faults []Fault
	for _, k := range [...]FaultKind{Chase, ChaseJoin} { // some runs are all about it
		if r.chance(120) {
			faults = append(faults, Fault{Number: len(faults), Kind: k, At: r.between(50*ms, 500*ms), For: r.between(500*ms, 3*time.Second)})
		}
	}
	if len(enabled) == 0 {
		return faults
	}
	pace := r.between(120*ms, 800*ms)
	for at := r.between(100*ms, 600*ms); at < o.safety*9/10; at += r.around(pace) {
		f := Fault{Number: len(faults), At: at, Kind: enabled[r.below(len(enabled))], who: target(r.below(int(targets))), draw: r.below(1 << 20)}
		// Half of the faults end inside the session, the others outlast it.
		f.For = r.between(10*ms, o.session)
		if r.chance(500) {
			f.For = r.between(o.session, 2*o.session)
		}
		faults = append(faults, f)
	}
	return faults
}
