package group

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tidemark/coordinator/shard"
)

func sortedTokens(m map[shard.Token]bool) []shard.Token { return slices.Sorted(maps.Keys(m)) }

// showReply writes a reply, and lets its client learn from it.
func (s *scene) showReply(r shard.Reply) {
	what := s.asked[r.Token]
	name, verb, _ := strings.Cut(what, " ")
	c := s.clients[name]
	text := "ok"
	switch b := r.Body.(type) {
	case *JoinReply:
		c.member = b.Member
		if r.Err == ErrMemberIDRequired {
			s.given = c
		} else {
			c.generation = b.Generation
			text = showJoin(b)
		}
	case *SyncReply:
		text = fmt.Sprintf("assigned %q", b.Assignment)
	case *LeaveReply:
		text = showErrs(b.Errs)
	case *DeleteReply:
		text = showErrs(b.Errs)
	case *CommitReply:
		text = showErrs(b.Errs)
	case *OffsetsReply:
		var list []string
		for _, o := range b.Offsets {
			list = append(list, fmt.Sprintf("%s-%d at %d", o.Topic, o.Partition, o.Offset))
		}
		text = "[" + strings.Join(list, ", ") + "]"
	case *ConsumerHeartbeatReply:
		text = c.learn(b)
	case *ConsumerDescription:
		text = showConsumers(b)
	case *Description:
		text = showDescription(b)
	}
	if r.Err != nil {
		text = r.Err.Error()
	}
	if r.Err == ErrUnknownMember && strings.HasPrefix(verb, "join") {
		c.member = "" // as clients do
	}
	s.line("reply   %s: %s", what, text)
}

func showJoin(b *JoinReply) string {
	text := fmt.Sprintf("generation %d, protocol %s, leader %s, member %s", b.Generation, b.Protocol, b.Leader, b.Member)
	if b.SkipAssignment {
		text += ", skip the assignment"
	}
	if len(b.Members) > 0 {
		var ids []string
		for _, m := range b.Members {
			ids = append(ids, m.Member)
		}
		text += ", members " + strings.Join(ids, " ")
	}
	return text
}

func showErrs(errs []error) string {
	var list []string
	for _, err := range errs {
		if err == nil {
			list = append(list, "ok")
		} else {
			list = append(list, err.Error())
		}
	}
	return strings.Join(list, ", ")
}

func showDescription(d *Description) string {
	text := fmt.Sprintf("%s, generation %d, %d pending", d.State, d.Generation, d.Pending)
	for _, m := range d.Members {
		text += fmt.Sprintf("; %s %q", m.Member, m.Assignment)
		if m.Joining {
			text += " joins"
		}
		if m.Syncing {
			text += " syncs"
		}
	}
	return text
}

func showRecord(r Record) string {
	switch r := r.(type) {
	case *GroupRecord:
		if r.Tombstone {
			return "group is gone"
		}
		text := fmt.Sprintf("group at generation %d", r.Generation)
		for _, m := range r.Members {
			text += fmt.Sprintf(", %s %q", m.Member, m.Assignment)
		}
		return text
	case *OffsetRecord:
		if r.Tombstone {
			return fmt.Sprintf("offset of %s-%d is gone", r.Topic, r.Partition)
		}
		return fmt.Sprintf("offset of %s-%d is %d", r.Topic, r.Partition, r.Offset)
	}
	return showConsumerRecord(r)
}

var kinds = map[int8]string{
	rebalanceTimer: "wait for joins", syncTimer: "wait for syncs", heartbeatTimer: "heartbeat of",
	pendingTimer: "pending id", retentionTimer: "retention",
	consumerSessionTimer: "session of", consumerRebalanceTimer: "revocation by",
}

func showKey(k shard.TimerKey) string { return strings.TrimSpace(kinds[k.Kind] + " " + k.Member) }

// showTimer writes what is set, and what is cancelled of what ran.
func (s *scene) showTimer(t shard.Timer) {
	switch _, runs := s.timers[t.Key]; {
	case t.Key.Kind == retentionTimer:
	case !t.Cancel:
		s.line("timer   %s: %s", showKey(t.Key), t.After)
	case runs:
		s.line("timer   %s: cancelled", showKey(t.Key))
	}
}

// showState writes the group's state where it changed.
func (s *scene) showState() {
	state := "no group"
	if c := s.groups.groups["g"]; c != nil && c.consumers != nil {
		state = fmt.Sprintf("%s, epoch %d, %d consumers", c.consumers.stateName(), c.consumers.epoch, len(c.consumers.members))
	} else if c != nil {
		state = fmt.Sprintf("%s, generation %d, %d members", c.state, c.generation, len(c.members))
	}
	if state != s.state {
		s.state = state
		s.line("state   %s", state)
	}
}
