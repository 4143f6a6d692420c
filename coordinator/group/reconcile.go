package group

import "tidemark/internal/planted"

// reconcile takes a member one step towards its target (CurrentAssignmentBuilder):
// what it shall not keep it is told to give back; only then it comes to the target's
// epoch and gets what is new, as far as its owners have given that back. owned is what
// the member says it has, nil where it does not say.
func (c *consumers) reconcile(m *consumerMember, target partitionSet, targetEpoch int32, owned *partitionSet) *consumerMember {
	switch {
	case m.state == MemberStable && m.epoch == targetEpoch:
		return m
	case m.state == MemberRevoking && holds(owned, m.revoking):
		return m
	}
	next := *m
	next.assigned = m.assigned.both(target)
	if revoking := m.assigned.without(target); len(revoking) > 0 && holds(owned, revoking) {
		next.state, next.revoking = MemberRevoking, revoking
		return &next
	}
	next.revoking = partitionSet{}
	next.previousEpoch, next.epoch, next.state = m.epoch, targetEpoch, MemberStable
	if m.epoch == targetEpoch {
		next.previousEpoch = m.previousEpoch
	}
	for p := range target.without(next.assigned) {
		if owner, taken := c.owners[p]; taken && owner != m.id && !planted.Is(planted.AssignBeforeRevocation) {
			next.state = MemberWaiting
			continue
		}
		next.assigned[p] = true
	}
	if next.state == m.state && next.epoch == m.epoch && sameSet(next.assigned, m.assigned) && len(m.revoking) == 0 {
		return m // it goes on waiting
	}
	return &next
}

// holds says that a member may still have one of the partitions: it says so, or does
// not say.
func holds(owned *partitionSet, revoking partitionSet) bool {
	return owned == nil || len(owned.both(revoking)) > 0
}
