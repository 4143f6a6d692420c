package group

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"tidemark/coordinator/shard"
)

// driven plays a group with clients that do anything at any time, as a string of
// bytes says, and checks after each step what must hold (invariant I18):
//
//   - a request has one reply, and one only;
//   - one generation at a time: all who are told of it are told the same protocol, and
//     one of them that it leads;
//   - within a generation a partition is assigned to one member at most;
//   - whoever commits is a member, of the present generation;
//   - what was acknowledged is read back, after any number of failovers;
//   - a machine made from the log is the machine that wrote it;
//   - nobody waits for ever, even if others go on heartbeating and do nothing else.
type driven struct {
	t *testing.T
	*world
	clients []*actor
	asked   map[shard.Token]*request
	// told is what was said of each generation since the group last began.
	told map[int32]*generation
	// acked is the last acknowledged offset of each partition.
	acked map[TopicPartition]int64
	next  int64
}

// actor is a client as it knows itself.
type actor struct {
	name, instance, member string
	generation             int32
	leads                  bool
	others                 []string
	lives                  int
}

type request struct {
	actor   *actor
	verb    string
	since   time.Time
	commits map[TopicPartition]int64
	// generation and owner are who asked for an assignment, and of which generation:
	// the process may have restarted since.
	generation int32
	owner      string
}

type generation struct {
	leader, protocol string
	owners           map[byte]string
}

func drive(t *testing.T, data []byte) {
	o := NewOptions()
	o.OffsetsRetention = 1000 * time.Hour
	o.RetentionInterval = time.Hour
	o.MaxSize = 4
	d := &driven{t: t, asked: map[shard.Token]*request{}, told: map[int32]*generation{}, acked: map[TopicPartition]int64{}}
	if len(data) > 0 && data[0]&1 == 0 {
		o.InitialRebalanceDelay = 0
	}
	d.world = newWorld(o)
	d.replied, d.stepped = d.hear, d.check
	d.appended = func(r Record) {
		if g, ok := r.(*GroupRecord); ok && g.Tombstone {
			clear(d.told)
		}
	}
	d.reloaded = d.forgetUnlogged
	for i, instance := range []string{"", "", "", "i1", "i2", "i2"} {
		d.clients = append(d.clients, &actor{name: string(rune('a' + i)), instance: instance})
	}
	for len(data) >= 2 {
		d.step(data[0], data[1])
		data = data[2:]
	}
	d.drain()
}

// step is one choice: the low bits of verb say what, who is the client, and the
// argument's high bits how.
func (d *driven) step(verb, arg byte) {
	a, how := d.clients[int(arg&7)%len(d.clients)], arg>>3
	switch verb % 16 {
	case 0, 1, 2:
		d.join(a, how)
	case 3, 4, 5:
		d.sync(a, how)
	case 6, 7:
		d.heartbeat(a)
	case 8, 9:
		d.commit(a, how)
	case 10:
		d.leave(a)
	case 11, 12:
		d.advance(time.Duration(how) * time.Second)
	case 13:
		a.member, a.generation, a.leads = "", 0, false // restarts, having forgotten everything
	case 14:
		d.fault(how)
	case 15:
		d.transact(how)
	}
}

func (d *driven) ask(r *request, op func(*Groups, time.Time, shard.Token, *Outcome)) {
	r.since = d.now
	d.asked[d.tokens+1] = r
	d.do(op)
}

func (d *driven) join(a *actor, how byte) {
	a.lives++
	r := &JoinRequest{
		Group: "g", Member: a.member, InstanceID: a.instance, ClientID: a.name, ProtocolType: "consumer",
		SessionTimeout: time.Duration(6+how%3*6) * time.Second, RebalanceTimeout: time.Duration(5+how%4*20) * time.Second,
		RequireKnownMember: how&4 != 0, CanSkipAssignment: how&8 != 0, FreshID: a.name + strconv.Itoa(a.lives),
		Protocols: []Protocol{{Name: "range", Metadata: []byte{how & 1}}, {Name: "sticky"}},
	}
	if how&16 != 0 {
		slices.Reverse(r.Protocols)
	}
	d.ask(&request{actor: a, verb: "join"}, func(g *Groups, now time.Time, token shard.Token, out *Outcome) { g.Join(now, r, token, out) })
}

// sync asks for the assignment; who believes to lead gives four partitions to the
// members that it was told of.
func (d *driven) sync(a *actor, how byte) {
	r := &SyncRequest{Group: "g", Generation: a.generation, Member: a.member, InstanceID: a.instance}
	if a.leads {
		given := map[string][]byte{}
		for p := range byte(4) {
			m := a.others[int(p+how)%len(a.others)]
			given[m] = append(given[m], p)
		}
		for _, m := range slices.Sorted(maps.Keys(given)) {
			r.Assignments = append(r.Assignments, Assignment{Member: m, Bytes: given[m]})
		}
	}
	d.ask(&request{actor: a, verb: "sync", generation: a.generation, owner: cmp.Or(a.instance, a.member)}, func(g *Groups, now time.Time, token shard.Token, out *Outcome) { g.Sync(now, r, token, out) })
}

func (d *driven) heartbeat(a *actor) {
	r := &HeartbeatRequest{Group: "g", Generation: a.generation, Member: a.member, InstanceID: a.instance}
	d.ask(&request{actor: a, verb: "heartbeat"}, func(g *Groups, now time.Time, token shard.Token, out *Outcome) { g.Heartbeat(now, r, token, out) })
}

func (d *driven) leave(a *actor) {
	r := &LeaveRequest{Group: "g", Members: []Leaver{{a.member, a.instance}}}
	d.ask(&request{actor: a, verb: "leave"}, func(g *Groups, now time.Time, token shard.Token, out *Outcome) { g.Leave(now, r, token, out) })
}

// commit commits as a member, and sometimes with an earlier generation.
func (d *driven) commit(a *actor, how byte) {
	at := TopicPartition{"t", int32(how & 3)}
	d.next++
	r := &CommitRequest{Group: "g", Generation: a.generation, Member: a.member, InstanceID: a.instance, RetentionMs: -1,
		Offsets: []Commit{{TopicPartition: at, Offset: d.next}}}
	if how&4 != 0 {
		r.Generation--
	}
	before := d.describe()
	d.ask(&request{actor: a, verb: "commit", commits: map[TopicPartition]int64{at: d.next}},
		func(g *Groups, now time.Time, token shard.Token, out *Outcome) { g.Commit(now, r, token, out) })
	if d.acked[at] == d.next {
		d.mayCommit(before, r)
	}
}

// fault turns the log's refusal on or off, deletes the group or fails over.
func (d *driven) fault(how byte) {
	switch how % 4 {
	case 0:
		d.refuse = !d.refuse
	case 1:
		r := &DeleteRequest{Groups: []string{"g"}}
		d.ask(&request{verb: "delete"}, func(g *Groups, now time.Time, token shard.Token, out *Outcome) { g.Delete(now, r, token, out) })
	default:
		d.sameAfterReload()
		d.failOver()
		d.check()
	}
}

// transact commits an offset in a transaction, or decides one.
func (d *driven) transact(how byte) {
	producer := int64(how & 1)
	at := TopicPartition{"u", 0}
	if how&2 != 0 {
		d.next++
		r := &TxnCommitRequest{ProducerID: producer, CommitRequest: CommitRequest{Group: "g", Generation: -1, RetentionMs: -1,
			Offsets: []Commit{{TopicPartition: at, Offset: d.next}}}}
		d.ask(&request{verb: "txn commit"}, func(g *Groups, now time.Time, token shard.Token, out *Outcome) {
			r.Verified = verified(g, producer)
			g.TxnCommit(now, r, token, out)
		})
		return
	}
	d.end(producer, how&4 != 0)
	d.check()
}

// hear is a client that gets its reply.
func (d *driven) hear(r shard.Reply) {
	q := d.asked[r.Token]
	delete(d.asked, r.Token)
	switch b := r.Body.(type) {
	case *JoinReply:
		q.actor.member = b.Member
		if r.Err == nil {
			d.joined(q.actor, b)
		}
	case *SyncReply:
		d.assigned(q, b)
	case *CommitReply:
		if b.Errs[0] == nil {
			maps.Copy(d.acked, q.commits)
		}
	case *DeleteReply:
		if b.Errs[0] == nil {
			clear(d.acked)
		}
	}
	if r.Err == ErrUnknownMember && q.verb == "join" {
		q.actor.member = ""
	}
}

// drain lets half of the clients go on heartbeating and nothing else; everybody who
// waits must be answered all the same.
func (d *driven) drain() {
	d.refuse = false
	for range 400 {
		d.advance(3 * time.Second)
		for _, a := range d.clients[1:4] {
			d.heartbeat(a)
		}
	}
	for token, q := range d.asked {
		if d.waiting[token] {
			d.t.Fatalf("%s's %s of %v ago still waits: %+v", q.actor.name, q.verb, d.now.Sub(q.since), d.describe())
		}
	}
	d.sameAfterReload()
}
