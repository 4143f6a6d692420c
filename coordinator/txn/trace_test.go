package txn

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/coordinator/shard"
	"tidemark/internal/golden"
)

// TestTraces plays the stories of testdata and compares what comes of them. The
// commands stand in the files themselves; -rewrite writes the outcomes.
func TestTraces(t *testing.T) {
	stories, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(stories) == 0 {
		t.Fatalf("no stories in testdata: %v", err)
	}
	for _, path := range stories {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			story, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, path, newScene(t).play(string(story)))
		})
	}
}

// scene plays a story: lines of commands about the transactional id "tx" from named
// producers, each followed by what came of it. A producer remembers the identity that
// it was given; "old" and "new" say which transaction.version it has.
type scene struct {
	t *testing.T
	*world
	out       strings.Builder
	producers map[string]*Producer
	fresh     int64
	undone    []Decision
}

func newScene(t *testing.T) *scene {
	s := &scene{t: t, world: newWorld(NewOptions()), producers: map[string]*Producer{}, fresh: 100}
	s.appended = func(r *Record) { s.line("log     %s", showRecord(r)) }
	s.work(true)
	return s
}

func (s *scene) line(format string, args ...any) {
	fmt.Fprintf(&s.out, "  %8s  ", s.now.Sub(time.UnixMilli(0)))
	fmt.Fprintf(&s.out, format, args...)
	s.out.WriteByte('\n')
}

// play is the story with what comes of it now.
func (s *scene) play(story string) string {
	golden.Play(story, &s.out, s.run)
	return s.out.String()
}

// run carries out one command: who, a verb, and words of its own.
func (s *scene) run(words []string) {
	if len(words) == 1 || words[0] == "advance" || words[0] == "log" || words[0] == "epoch" {
		s.surroundings(words)
		return
	}
	p := s.producers[words[0]]
	if p == nil {
		p = &Producer{ID: "tx", ProducerID: None, ProducerEpoch: None}
		s.producers[words[0]] = p
	}
	switch verb, rest := words[1], words[2:]; verb {
	case "starts":
		s.init(words[0], p, Producer{ID: "tx", ProducerID: None, ProducerEpoch: None})
	case "recovers":
		s.init(words[0], p, *p)
	case "adds":
		r := &AddRequest{Producer: *p, Partitions: parsePartitions(rest)}
		if rest[0] == "new" {
			r.ClientVersion = EpochBump
		}
		s.ask(words[0]+" adds", func(x *Txns, now time.Time, token shard.Token, out *Outcome) { x.Add(now, r, token, out) })
	case "verifies":
		r := &VerifyRequest{Producer: *p, Partitions: parsePartitions(rest)}
		s.ask(words[0]+" verifies", func(x *Txns, now time.Time, token shard.Token, out *Outcome) { x.Verify(now, r, token, out) })
	case "commits", "aborts":
		s.end(words[0], p, verb == "commits", rest)
	case "is": // a producer of that identity
		fmt.Sscanf(rest[0], "%d/%d", &p.ProducerID, &p.ProducerEpoch)
	default:
		s.t.Fatalf("unknown command %q", words)
	}
}

// surroundings are commands about everything but producers.
func (s *scene) surroundings(words []string) {
	switch words[0] {
	case "markers": // are written, for all that is undone
		undone := s.undone
		s.undone = nil
		for _, d := range undone {
			s.line("markers %s", showDecision(d))
			r := &CompleteRequest{d.Producer}
			s.ask("complete", func(x *Txns, now time.Time, token shard.Token, out *Outcome) { x.Complete(now, r, token, out) })
		}
	case "failover":
		s.undone = nil
		s.failOver(0)
	case "advance":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			s.t.Fatal(err)
		}
		s.advance(d)
	case "log":
		s.refuse, s.lag = words[1] == "refuses", words[1] == "lags"
	case "epoch": // as if it had come about by itself
		epoch, err := strconv.ParseInt(words[1], 10, 16)
		if err != nil {
			s.t.Fatal(err)
		}
		r := *s.log[len(s.log)-1]
		r.ProducerEpoch = int16(epoch)
		s.carry(0, &Outcome{Records: []*Record{&r}, RecordsOnly: true})
	case "commit":
		s.commit(len(s.log))
	case "describe":
		s.ask("describe", func(x *Txns, now time.Time, token shard.Token, out *Outcome) { x.Describe(now, "tx", token, out) })
	default:
		s.t.Fatalf("unknown command %q", words)
	}
}

// work takes every decision as it comes.
func (s *scene) work(all bool) {
	s.do(func(x *Txns, now time.Time, token shard.Token, out *Outcome) {
		x.Work(now, &WorkRequest{All: all}, token, out)
	}, func(r shard.Reply) {
		if r.Err != nil {
			s.work(true)
			return
		}
		for _, d := range r.Body.(*WorkReply).Decisions {
			s.line("due     %s", showDecision(d))
			s.undone = append(s.undone, d)
		}
		s.work(false)
	})
}

// init asks for an identity, again with a fresh producer id where that is needed.
func (s *scene) init(name string, p *Producer, known Producer) {
	r := &InitRequest{Producer: known, Timeout: time.Minute, Fresh: None}
	var ask func()
	ask = func() {
		s.do(func(x *Txns, now time.Time, token shard.Token, out *Outcome) { x.Init(now, r, token, out) }, func(reply shard.Reply) {
			if reply.Err == ErrNeedProducerID {
				s.fresh++
				r.Fresh = s.fresh
				ask()
				return
			}
			s.line("%s starts: %s", name, showReply(reply))
			if body, ok := reply.Body.(*InitReply); ok && reply.Err == nil {
				p.ProducerID, p.ProducerEpoch = body.ProducerID, body.ProducerEpoch
			}
		})
	}
	ask()
}

// end decides the producer's transaction: "new" takes a new epoch, "unheard" loses the
// answer.
func (s *scene) end(name string, p *Producer, commit bool, words []string) {
	flags := strings.Join(words, " ")
	r := &EndRequest{Producer: *p, Commit: commit, Bump: strings.Contains(flags, "new"), Fresh: None}
	var ask func()
	ask = func() {
		s.do(func(x *Txns, now time.Time, token shard.Token, out *Outcome) { x.End(now, r, token, out) }, func(reply shard.Reply) {
			if reply.Err == ErrNeedProducerID {
				s.fresh++
				r.Fresh = s.fresh
				ask()
				return
			}
			s.line("%s ends: %s", name, showReply(reply))
			if body, ok := reply.Body.(*EndReply); ok && reply.Err == nil && r.Bump && !strings.Contains(flags, "unheard") {
				p.ProducerID, p.ProducerEpoch = body.ProducerID, body.ProducerEpoch
			}
		})
	}
	ask()
}

func (s *scene) ask(what string, op func(*Txns, time.Time, shard.Token, *Outcome)) {
	s.do(op, func(r shard.Reply) { s.line("%s: %s", what, showReply(r)) })
}

// parsePartitions reads words such as t0 and u12.
func parsePartitions(words []string) (list []Partition) {
	for _, w := range words {
		if index, err := strconv.Atoi(w[1:]); err == nil {
			list = append(list, Partition{w[:1], int32(index)})
		}
	}
	return list
}

func showPartitions(list []Partition) string {
	var out []string
	for _, p := range list {
		out = append(out, fmt.Sprint(p.Topic, p.Index))
	}
	return "[" + strings.Join(out, " ") + "]"
}

func showRecord(r *Record) string {
	if r.Tombstone {
		return r.ID + " is gone"
	}
	text := fmt.Sprintf("%s %d/%d %s %s", r.ID, r.ProducerID, r.ProducerEpoch, r.State, showPartitions(r.Partitions))
	if r.NextProducerID != None {
		text += fmt.Sprintf(" then %d", r.NextProducerID)
	}
	return text
}

func showDecision(d Decision) string {
	what := "ABORT"
	if d.Commit {
		what = "COMMIT"
	}
	return fmt.Sprintf("%s of %d/%d in %s", what, d.ProducerID, d.ProducerEpoch, showPartitions(d.Partitions))
}

func showReply(r shard.Reply) string {
	if r.Err != nil {
		return r.Err.Error()
	}
	switch body := r.Body.(type) {
	case *InitReply:
		return fmt.Sprintf("is %d/%d", body.ProducerID, body.ProducerEpoch)
	case *EndReply:
		return fmt.Sprintf("goes on as %d/%d", body.ProducerID, body.ProducerEpoch)
	case *VerifyReply:
		return fmt.Sprint(body.Errs)
	case *DescribeReply:
		return fmt.Sprintf("%s %d/%d %s", body.State, body.ProducerID, body.ProducerEpoch, showPartitions(body.Partitions))
	}
	return "done"
}
