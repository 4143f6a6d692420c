package group

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/coordinator/shard"
	"tidemark/internal/golden"
)

// scene plays a story: lines of commands to one group "g" from named clients, each
// followed by what came of it. A client's first join asks as new clients do, without
// an id, and joins again with the one it is given.
type scene struct {
	t *testing.T
	*world
	out     strings.Builder
	clients map[string]*client
	asked   map[shard.Token]string
	topics  *topics
	// given is a client that was just told to join again with its id.
	given *client
	// state is the group's as last shown.
	state string
}

type client struct {
	name, member, instance string
	generation             int32
	lives                  int
	beats                  beating848
	// last is the join to repeat with the id given.
	last *JoinRequest
}

func newScene(t *testing.T, o Options) *scene {
	s := &scene{t: t, world: newWorld(o), clients: map[string]*client{}, asked: map[shard.Token]string{}, topics: newTopics()}
	s.appended = func(r Record) { s.line("log     %s", showRecord(r)) }
	s.timed = s.showTimer
	s.expired = func(k shard.TimerKey) { s.line("expired %s", showKey(k)) }
	s.replied = s.showReply
	s.reloaded = func() { s.line("the machine is made again from the log") }
	s.stepped = s.showState
	return s
}

func (s *scene) line(format string, args ...any) {
	fmt.Fprintf(&s.out, "  %6s  ", s.now.Sub(time.UnixMilli(0)))
	fmt.Fprintf(&s.out, format, args...)
	s.out.WriteByte('\n')
}

// play is the story with what comes of it now.
func (s *scene) play(story string) string {
	golden.Play(story, &s.out, s.run)
	for _, token := range sortedTokens(s.waiting) {
		s.line("%s still waits", s.asked[token])
	}
	return s.out.String()
}

// run carries out one command: a verb, names of clients, and key=value arguments.
func (s *scene) run(words []string) {
	args := map[string]string{}
	var names []string
	for _, w := range words[1:] {
		if key, value, ok := strings.Cut(w, "="); ok {
			args[key] = value
		} else {
			names = append(names, w)
		}
	}
	switch words[0] {
	case "advance":
		s.advance(duration(names[0]))
	case "failover":
		s.failOver()
		s.showState()
	case "refuse":
		s.refuse = names[0] == "on"
	case "describe":
		s.ask("describe", func(g *Groups, now time.Time, token shard.Token, out *Outcome) { g.Describe(now, "g", token, out) })
	case "offsets":
		r := &OffsetsRequest{Group: "g", All: true}
		s.ask("offsets", func(g *Groups, now time.Time, token shard.Token, out *Outcome) { g.Offsets(now, r, token, out) })
	case "delete":
		r := &DeleteRequest{Groups: []string{"g"}}
		s.ask("delete", func(g *Groups, now time.Time, token shard.Token, out *Outcome) { g.Delete(now, r, token, out) })
	case "leave":
		s.leave(names)
	case "drop": // a topic is deleted
		s.topics.drop(names[0])
	case "grow": // a topic gets more partitions, or comes into being
		s.topics.grow(names[0], int32(number(names[1])))
	case "watch":
		s.ask("watch", func(g *Groups, now time.Time, token shard.Token, out *Outcome) {
			g.ConsumerDescribe(now, "g", token, out)
		})
	default:
		for _, name := range names {
			s.request(words[0], s.client(name), args)
		}
	}
}

// request sends one client's request.
func (s *scene) request(verb string, c *client, args map[string]string) {
	switch verb {
	case "beat":
		s.beat(c, args)
	case "join":
		s.join(c, args)
	case "ask": // for an id, and no more
		args["once"] = "1"
		s.join(c, args)
	case "restart": // the process is gone and comes back without its member id
		c.member = ""
		s.join(c, args)
	case "sync":
		r := &SyncRequest{Group: "g", Generation: c.generation, Member: c.member, InstanceID: c.instance}
		for name, partitions := range args {
			r.Assignments = append(r.Assignments, Assignment{Member: s.client(name).member, Bytes: []byte(partitions)})
		}
		s.ask(c.name+" sync", func(g *Groups, now time.Time, token shard.Token, out *Outcome) { g.Sync(now, r, token, out) })
	case "heartbeat":
		r := &HeartbeatRequest{Group: "g", Generation: c.generation, Member: c.member, InstanceID: c.instance}
		s.ask(c.name+" heartbeat", func(g *Groups, now time.Time, token shard.Token, out *Outcome) { g.Heartbeat(now, r, token, out) })
	case "commit":
		r := &CommitRequest{Group: "g", Generation: c.generation, Member: c.member, InstanceID: c.instance, RetentionMs: -1}
		if c.member == "" {
			r.Generation = -1
		}
		for partition, offset := range args {
			r.Offsets = append(r.Offsets, Commit{TopicPartition: TopicPartition{"t", int32(number(partition))}, Offset: int64(number(offset)), LeaderEpoch: -1})
		}
		s.ask(c.name+" commit", func(g *Groups, now time.Time, token shard.Token, out *Outcome) { g.Commit(now, r, token, out) })
	default:
		s.t.Fatalf("unknown command %q", verb)
	}
}

func (s *scene) join(c *client, args map[string]string) {
	c.lives++
	if static, ok := args["static"]; ok {
		c.instance = static
	}
	fresh := strconv.Itoa(c.lives)
	if c.instance != "" {
		fresh = c.name + fresh
	}
	r := &JoinRequest{
		Group: "g", Member: c.member, InstanceID: c.instance, ClientID: c.name, ClientHost: "/" + c.name, ProtocolType: "consumer",
		SessionTimeout: 10 * time.Second, RebalanceTimeout: time.Minute, RequireKnownMember: args["old"] == "",
		CanSkipAssignment: args["skip"] != "", FreshID: fresh,
	}
	if v, ok := args["session"]; ok {
		r.SessionTimeout = duration(v)
	}
	if v, ok := args["rebalance"]; ok {
		r.RebalanceTimeout = duration(v)
	}
	protocols := "range"
	if v, ok := args["protocols"]; ok {
		protocols = v
	}
	for _, p := range strings.Split(protocols, ",") {
		r.Protocols = append(r.Protocols, Protocol{Name: p, Metadata: []byte(args["metadata"])})
	}
	if c.last = r; args["once"] != "" {
		c.last = nil
	}
	s.ask(c.name+" join", func(g *Groups, now time.Time, token shard.Token, out *Outcome) { g.Join(now, r, token, out) })
}

func (s *scene) leave(names []string) {
	r := &LeaveRequest{Group: "g"}
	for _, name := range names {
		r.Members = append(r.Members, Leaver{Member: s.client(name).member, InstanceID: s.client(name).instance})
	}
	s.ask(strings.Join(names, "+")+" leave", func(g *Groups, now time.Time, token shard.Token, out *Outcome) { g.Leave(now, r, token, out) })
}

// ask runs an operation under a name for its reply. A client that is given an id
// joins with it at once.
func (s *scene) ask(what string, op func(*Groups, time.Time, shard.Token, *Outcome)) {
	s.asked[s.tokens+1] = what
	s.do(op)
	if c := s.given; c != nil && c.last != nil {
		s.given = nil
		r := *c.last
		r.Member = c.member
		s.ask(what+" with its id", func(g *Groups, now time.Time, token shard.Token, out *Outcome) { g.Join(now, &r, token, out) })
	}
}

func (s *scene) client(name string) *client {
	c := s.clients[name]
	if c == nil {
		c = &client{name: name}
		s.clients[name] = c
	}
	return c
}

func duration(v string) time.Duration {
	d, err := time.ParseDuration(v)
	if err != nil {
		panic(err)
	}
	return d
}

func number(v string) int {
	n, err := strconv.Atoi(v)
	if err != nil {
		panic(err)
	}
	return n
}
