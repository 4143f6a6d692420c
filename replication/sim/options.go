package sim

import (
	"fmt"
	"strings"
	"time"

	"tidemark/replication"
)

// Scenario is what is asked of a run beside its seed; what it leaves open the
// seed decides. The zero Scenario is the shipped isr strategy under every fault
// that its promise bears.
type Scenario struct {
	// Spec is the strategy; its Name decides which invariants hold.
	Spec replication.Spec
	// Acks is "0", "1", "all", or "" for a mixture.
	Acks string
	// Flush is "os", "batch" (group counts the same), or "" for either.
	Flush string
	// MinISR is min.insync.replicas, 0 for either.
	MinISR int
	// ISRUpdate is "controller", "zookeeper", or "" for either.
	ISRUpdate string
	// ELR is "on", "off", or "" for either; KIP-966.
	ELR string
	// Truncation is the rule of followers.
	Truncation replication.Truncation
	// UncleanElection allows it.
	UncleanElection bool
	// Unsafe lets faults exceed what the settings promise to survive.
	Unsafe bool
	// Row, where not empty, is a row of the list of faults that is played, after
	// which acknowledged records are counted.
	Row string
	// Keep, where not nil, are the numbers of the faults that stay; shrinking
	// sets it.
	Keep []int
	// Brokers and Producers, where not 0, and Safety limit what the seed chose;
	// shrinking sets them.
	Brokers, Producers int
	Safety             time.Duration
}

// Options is what a seed expands to.
type Options struct {
	Strategy  string
	Brokers   int
	Producers int
	Consumers int
	Acks      []int8
	MinISR    int
	Flush     string
	ISRUpdate string
	ELR       bool
	Unclean   bool
	Unsafe    bool
	Faults    []Fault

	session, lag, tick             time.Duration
	safety, liveness               time.Duration
	fetchWait, fetchTimeout        time.Duration
	requestTimeout                 time.Duration
	producePeriod, consumePeriod   time.Duration
	fsyncLow, fsyncHigh, writeback time.Duration
	delayLow, delayHigh            time.Duration
	dropPerMille, latePerMille     int
	// fetchRecords is how many batches an answer to a follower holds at most.
	fetchRecords int64
	// reclaim: a broker that starts again takes its old registration over instead
	// of waiting until the session ends.
	reclaim    bool
	truncation replication.Truncation
}

// replicationFactor of the one partition.
const replicationFactor = 3

const ms = time.Millisecond

// expand draws the options of a run from its seed.
func expand(s Scenario, r *random) Options {
	o := Options{
		Strategy: s.Spec.Name, Brokers: replicationFactor + r.below(2), Producers: 2 + r.below(2), Consumers: 2,
		session: 600 * ms, tick: 50 * ms, safety: 4 * time.Second, liveness: 8 * time.Second,
		fetchWait: 50 * ms, fetchTimeout: 150 * ms, requestTimeout: 300 * ms,
		producePeriod: r.between(8*ms, 25*ms), consumePeriod: 30 * ms,
		fsyncLow: 200 * time.Microsecond, fsyncHigh: r.between(ms, 5*ms), writeback: r.between(100*ms, 2000*ms),
		delayLow: 100 * time.Microsecond, delayHigh: r.between(ms, 6*ms),
		truncation: s.Truncation, Unsafe: s.Unsafe, Unclean: s.UncleanElection,
	}
	o.lag = r.between(150*ms, 400*ms)
	o.reclaim = r.chance(600)
	o.fetchRecords = [...]int64{1, 2, 8, 8}[r.below(4)]
	if r.chance(300) {
		o.dropPerMille = 1 + r.below(4)
	}
	if r.chance(300) {
		o.latePerMille = 1 + r.below(8)
	}
	o.MinISR = pick(s.MinISR, 1+r.below(2))
	o.Flush = pickText(s.Flush, r, "os", "batch")
	o.ISRUpdate = pickText(s.ISRUpdate, r, "controller", "controller", "controller", "zookeeper")
	elr := pickText(s.ELR, r, "on", "off")
	o.ELR = elr == "on" && o.ISRUpdate == "controller" && s.Spec.Promise == replication.InSync
	if s.Brokers > 0 {
		o.Brokers = min(o.Brokers, max(s.Brokers, replicationFactor))
	}
	if s.Producers > 0 {
		o.Producers = min(o.Producers, s.Producers)
	}
	if s.Safety > 0 {
		o.safety = s.Safety
	}
	for i := range o.Producers {
		o.Acks = append(o.Acks, acksOf(s.Acks, r, i))
	}
	if s.Row == "" {
		o.Faults = planFaults(o, r)
	} else { // a row's own faults only, and nothing reaches the disk by itself
		o.dropPerMille, o.latePerMille, o.writeback, o.Unsafe = 0, 0, time.Minute, true
		o.session, o.reclaim = 400*ms, false
		o.lag = min(o.lag, 250*ms)
	}
	if s.Keep != nil {
		o.Faults = keep(o.Faults, s.Keep)
	}
	return o
}

func pick(asked, otherwise int) int {
	if asked > 0 {
		return asked
	}
	return otherwise
}

func pickText(asked string, r *random, choices ...string) string {
	chosen := choices[r.below(len(choices))]
	if asked != "" {
		return asked
	}
	return chosen
}

// acksOf makes the first producer always wait for all, so that every run has
// something to lose.
func acksOf(asked string, r *random, producer int) int8 {
	mixed := [...]int8{-1, -1, 1, 1, 0}[r.below(5)]
	switch {
	case asked == "all", asked == "" && producer == 0:
		return -1
	case asked == "1":
		return 1
	case asked == "0":
		return 0
	}
	return mixed
}

func keep(faults []Fault, numbers []int) []Fault {
	kept := make([]Fault, 0, len(numbers))
	for _, f := range faults {
		for _, n := range numbers {
			if f.Number == n {
				kept = append(kept, f)
			}
		}
	}
	return kept
}

// String is the options in a line, the faults by number after it.
func (o Options) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s brokers=%d producers=%d acks=%v min.insync.replicas=%d flush=%s isr.update=%s elr=%v unclean=%v unsafe=%v lag=%s drop=%d/1000 late=%d/1000 delay<=%s writeback=%s reclaim=%v fetch<=%d",
		o.Strategy, o.Brokers, o.Producers, o.Acks, o.MinISR, o.Flush, o.ISRUpdate, o.ELR, o.Unclean, o.Unsafe, o.lag.Round(ms), o.dropPerMille, o.latePerMille,
		o.delayHigh.Round(ms/10), o.writeback.Round(ms), o.reclaim, o.fetchRecords)
	for _, f := range o.Faults {
		fmt.Fprintf(&b, "\n  %s", f)
	}
	return b.String()
}
