// Package scene plays replication on paper: a partition with a few brokers, a
// controller and a clock that moves when told, driven by a text file whose lines
// are commands and whose indented lines are what came of them. The machines and
// elections are the real ones; logs are lists of named records.
//
// Nothing happens by itself: a follower fetches when its line comes, an answer
// can be held on its way, a proposal waits for the controller. So a file tells
// one story in one order. The commands:
//
//	cluster isr brokers=3 min=2 …   begin; options below
//	append 1 a b                    produce records on broker 1, acks=all (acks=1: append1)
//	fetch 2 [n]                     broker 2's fetch is answered and applied, n times
//	ask 2 / deliver 2 [n] / lose 2  the same in two halves: the answer may come
//	                                short, or never
//	tick 10s                        time passes, every machine ticks
//	commit / refuse / stale         the controller's word on the proposal
//	kill 2 / power 2 / wipe 2       the process dies; with unsynced records; with its disk
//	pause 2 / resume 2              it stands still; controller and fetches do not reach it
//	expire 2                        its session ends
//	restart 2 [unnoticed]           it starts again, under a new broker epoch, or as
//	                                before there were any
//	return 2                        it lives on and registers anew after its session ended
//	elect [2 3]                     the controller elects; only those named hear of it
//	tell 2 / late 2                 broker 2 hears of the state as it stands, or of
//	                                the one before it
//	disk 2 slow / flush 2           syncs wait for flush lines
//	show                            logs and offsets; ¦ is the high watermark
//	latest 1                        the latest offset, as ListOffsets tells it
//	why                             why the high watermark stands
//	check                           whether the leader has what was acknowledged or
//	                                readable
//
// Options of cluster: brokers, min, lag, truncation=hw, flush=batch, elr, unclean.
package scene

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/replication"
)

// Scene is one play. It is confined to its caller.
type Scene struct {
	catalog replication.Catalog
	spec    replication.Spec
	cfg     replication.Config
	now     time.Duration
	brokers []*broker
	ctl     controller
	// promised are the records that were acknowledged or readable, on a leader or
	// a follower (KIP-392).
	promised []string
	out      strings.Builder
}

// Run plays the text and returns it with the outcome of every command below it;
// indented lines of the text, an earlier outcome, are left out.
func Run(catalog replication.Catalog, text string) string {
	s := &Scene{catalog: catalog}
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if strings.HasPrefix(line, "  ") {
			continue
		}
		s.out.WriteString(line + "\n")
		if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
			if err := s.command(words[0], words[1:]); err != nil {
				s.say("error: %v", err)
			}
		}
	}
	return s.out.String()
}

func (s *Scene) say(format string, args ...any) {
	s.out.WriteString("  " + fmt.Sprintf(format, args...) + "\n")
}

func (s *Scene) command(name string, args []string) error {
	if name == "cluster" {
		return s.cluster(args)
	}
	if len(s.brokers) == 0 {
		return fmt.Errorf("there is no cluster yet")
	}
	switch name {
	case "tick":
		return s.tick(args)
	case "commit", "refuse", "stale":
		return s.ctl.decide(s, name)
	case "elect":
		return s.ctl.elect(s, args)
	case "show":
		s.show()
		return nil
	case "why":
		s.why()
		return nil
	case "check":
		s.check()
		return nil
	}
	do, known := verbs[name]
	if !known || len(args) == 0 {
		return fmt.Errorf("no such command")
	}
	b, err := s.broker(args[0])
	if err != nil {
		return err
	}
	return do(s, b, args[1:])
}

// verbs are the commands whose first argument is a broker.
var verbs = map[string]func(s *Scene, b *broker, args []string) error{
	"append":  func(s *Scene, b *broker, args []string) error { return b.produce(s, args, true) },
	"append1": func(s *Scene, b *broker, args []string) error { return b.produce(s, args, false) },
	"fetch":   (*Scene).fetchRounds,
	"ask":     func(s *Scene, b *broker, _ []string) error { return b.ask(s) },
	"deliver": (*Scene).deliverSome,
	"lose":    func(s *Scene, b *broker, _ []string) error { b.answer = nil; return nil },
	"kill":    func(s *Scene, b *broker, _ []string) error { b.die(s, "kill"); return nil },
	"power":   func(s *Scene, b *broker, _ []string) error { b.die(s, "power"); return nil },
	"wipe":    func(s *Scene, b *broker, _ []string) error { b.die(s, "wipe"); return nil },
	"pause":   func(_ *Scene, b *broker, _ []string) error { b.paused = true; return nil },
	"resume":  func(_ *Scene, b *broker, _ []string) error { b.paused = false; return nil },
	"expire":  func(_ *Scene, b *broker, _ []string) error { b.session = false; return nil },
	"restart": func(s *Scene, b *broker, args []string) error { return b.restart(s, args) },
	"return":  func(s *Scene, b *broker, _ []string) error { b.register(s, true); return nil },
	"tell":    func(s *Scene, b *broker, _ []string) error { s.ctl.state.tell(s, b); return nil },
	"late":    func(s *Scene, b *broker, _ []string) error { s.ctl.before.tell(s, b); return nil },
	"disk":    func(_ *Scene, b *broker, args []string) error { b.slowDisk = slices.Contains(args, "slow"); return nil },
	"latest":  func(s *Scene, b *broker, _ []string) error { return b.latest(s) },
	"flush":   func(s *Scene, b *broker, _ []string) error { b.flush(s); return nil },
}

func (s *Scene) broker(id string) (*broker, error) {
	for _, b := range s.brokers {
		if strconv.Itoa(int(b.id)) == id {
			return b, nil
		}
	}
	return nil, fmt.Errorf("no broker %q", id)
}

// cluster begins anew: every broker is up and empty, and the first leader is
// elected.
func (s *Scene) cluster(args []string) (err error) {
	if len(args) == 0 {
		return fmt.Errorf("which strategy?")
	}
	if s.spec, err = s.catalog.Find(args[0]); err != nil {
		return err
	}
	s.cfg = replication.Config{MinISR: 1, LagTimeMax: 10 * time.Second}
	count := 3
	for _, option := range args[1:] {
		name, value, _ := strings.Cut(option, "=")
		if err := s.option(name, value, &count); err != nil {
			return err
		}
	}
	s.brokers, s.now, s.promised, s.ctl = nil, 0, nil, newController()
	for i := range count {
		b := &broker{id: int32(i + 1), dir: replication.DirID{15: byte(i + 1)}}
		s.brokers = append(s.brokers, b)
		b.register(s, false)
		b.boot(s)
	}
	return s.ctl.elect(s, nil)
}

func (s *Scene) option(name, value string, count *int) (err error) {
	switch name {
	case "brokers":
		if *count, err = strconv.Atoi(value); err == nil && (*count < 1 || *count > 9) {
			err = fmt.Errorf("%d brokers", *count)
		}
	case "min":
		s.cfg.MinISR, err = strconv.Atoi(value)
	case "lag":
		s.cfg.LagTimeMax, err = time.ParseDuration(value)
	case "truncation":
		s.cfg.Truncation = replication.ByEpoch
		if value == replication.ByHighWatermark.String() {
			s.cfg.Truncation = replication.ByHighWatermark
		}
	case "flush":
		s.cfg.SyncedAcks = value != "os"
	case "elr":
		s.cfg.ELR = true
	case "unclean":
		s.cfg.UncleanElection = true
	default:
		return fmt.Errorf("no option %q", name)
	}
	return err
}

func (s *Scene) tick(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("how long?")
	}
	d, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	s.now += d
	for _, b := range s.brokers {
		if b.reachable() {
			b.step(s, replication.Event{Kind: replication.Tick})
		}
	}
	return nil
}

func (s *Scene) fetchRounds(b *broker, args []string) error {
	rounds, err := number(args, 1)
	if err != nil {
		return err
	}
	for range rounds {
		if err := b.ask(s); err != nil {
			return err
		}
		if err := b.deliver(s, math.MaxInt); err != nil {
			return err
		}
	}
	return nil
}

func (s *Scene) deliverSome(b *broker, args []string) error {
	limit, err := number(args, math.MaxInt)
	if err != nil {
		return err
	}
	return b.deliver(s, limit)
}

// number is the first argument, or what stands for none.
func number(args []string, none int) (int, error) {
	if len(args) == 0 {
		return none, nil
	}
	return strconv.Atoi(args[0])
}

// promise notes records that were acknowledged or readable.
func (s *Scene) promise(records string) {
	for _, name := range strings.Fields(records) {
		if name != control && !slices.Contains(s.promised, name) {
			s.promised = append(s.promised, name)
		}
	}
}
