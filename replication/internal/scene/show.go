package scene

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/commitlog/epoch"
	"tidemark/replication"
)

var failures = map[replication.Failure]string{
	replication.NotLeader:                    "NOT_LEADER_OR_FOLLOWER",
	replication.FencedLeaderEpoch:            "FENCED_LEADER_EPOCH",
	replication.UnknownLeaderEpoch:           "UNKNOWN_LEADER_EPOCH",
	replication.OffsetOutOfRange:             "OFFSET_OUT_OF_RANGE",
	replication.StaleBrokerEpoch:             "STALE_BROKER_EPOCH",
	replication.UnknownReplica:               "UNKNOWN_TOPIC_OR_PARTITION",
	replication.NotEnoughReplicasAfterAppend: "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
}

// show draws the logs, one broker a line: every record with the leader epoch it
// was written in, the high watermark as ¦.
func (s *Scene) show() {
	for _, b := range s.brokers {
		if !b.up {
			s.say("%d down      %s", b.id, draw(b.disk.log, -1))
			continue
		}
		st := b.machine.Status()
		s.say("%d %-9s %s", b.id, st.Role, draw(b.disk.log, st.HighWatermark))
	}
}

func draw(log []record, hw int64) string {
	var out []string
	for i, r := range log {
		if int64(i) == hw {
			out = append(out, "¦")
		}
		out = append(out, fmt.Sprintf("%s.%d", r.name, r.epoch))
	}
	if int64(len(log)) == hw {
		out = append(out, "¦")
	}
	return strings.Join(out, " ")
}

// why says what holds the leaders' high watermarks.
func (s *Scene) why() {
	for _, b := range s.brokers {
		if !b.up || !b.leads() {
			continue
		}
		st := b.machine.Status()
		if st.Waiting == "" {
			s.say("%d high watermark %d is the log end", b.id, st.HighWatermark)
		} else {
			s.say("%d high watermark stands at %d of %d: %s", b.id, st.HighWatermark, st.LogEndOffset, st.Waiting)
		}
	}
}

// check holds what was acknowledged or readable against the log of the leader
// that the controller named, and the logs of those that follow it.
func (s *Scene) check() {
	if s.ctl.leader == replication.NoBroker {
		s.say("no leader: nothing can be read, nothing is lost")
		return
	}
	log := s.brokers[s.ctl.leader-1].disk.log
	lost := slices.DeleteFunc(slices.Clone(s.promised), func(name string) bool {
		return slices.ContainsFunc(log, func(r record) bool { return r.name == name })
	})
	if len(lost) > 0 {
		s.say("LOST, acknowledged or readable: %s", strings.Join(lost, " "))
	} else {
		s.say("nothing is lost: leader %d has %s", s.ctl.leader, strings.Join(s.promised, " "))
	}
	for _, b := range s.brokers {
		if st := b.machine.Status(); !b.reachable() || b.leads() || st.LeaderEpoch != s.ctl.leaderEpoch {
			continue // It has not heard of this leader.
		}
		for i := range min(len(b.disk.log), len(log)) {
			if b.disk.log[i] != log[i] {
				s.say("%d differs from the leader at offset %d: %s, not %s", b.id, i, b.disk.log[i].name, log[i].name)
				break
			}
		}
	}
}

func names(log []record) string {
	var out []string
	for _, r := range log {
		out = append(out, r.name)
	}
	return strings.Join(out, " ")
}

func members(set []replication.Member) string {
	if len(set) == 0 {
		return "[]"
	}
	var out []string
	for _, m := range set {
		out = append(out, fmt.Sprint(m.Broker))
	}
	return "[" + strings.Join(out, " ") + "]"
}

func elrText(elr []replication.Member) string {
	if len(elr) == 0 {
		return ""
	}
	return ", eligible " + members(elr)
}

// epochsOf rebuilds the leader epochs from the records, as recovery does.
func epochsOf(log []record) []epoch.Entry {
	var c epoch.Cache
	for i, r := range log {
		c.Assign(r.epoch, int64(i))
	}
	return c.Entries()
}
