package trace

import "fmt"

// Kind is the type of an event.
type Kind uint8

// The kinds. Their names in files are those of String.
const (
	// Append: records From to To are in the emitter's log.
	Append Kind = iota + 1
	// Fsync: everything below To is on stable storage, or Error says why not.
	Fsync
	// Fetch: a follower asked from offset From, or was answered (Phase).
	Fetch
	// HW: the high watermark moved from From to To; WaitingFor is who holds it there.
	HW
	// ISR: the set moved, or was to move, from Old to New (Phase).
	ISR
	// Leader: the partition has another leader or leader epoch. The controller
	// elected it, or a replica heard of it (Phase).
	Leader
	// Truncate: the emitter's log was cut from end offset From to To.
	Truncate
	// Purgatory: a delayed operation was parked, completed or expired (Phase).
	Purgatory
	// Znode: Op was done to Path in ZooKeeper, or refused (Error).
	Znode
	// Fault: What began or ended (Phase) at the emitter, or between it and New.
	Fault
	// Probe: the record Key was sent, appended, acknowledged, read … (Phase).
	Probe
	// Verdict: a checker found What.
	Verdict
	// Group: the group Key has another state (Phase) or generation, and Count members.
	Group
	// Member: a member came to the group Key, left it or moved on (Phase).
	Member
	// Commit: the group Key committed offset From of a partition.
	Commit
	// Txn: the transaction of Key has another state (Phase), with Count partitions.
	Txn
	// Drop: Count events up to the one of this ID were lost, as they came faster
	// than they could be written.
	Drop
	kinds
)

type field uint8

const (
	fromField field = iota
	toField
	leoField
	hwField
	recordsField
	followerField
	leaderField
	oldLeaderField
	uncleanField
	oldField
	newField
	waitingField
	correlationField
	phaseField
	whatField
	keyField
	deadlineField
	pathField
	opField
	versionField
	ownerField
	errorField
	whyField
	bytesField
	memberField
	generationField
	producerField
	producerEpochField
	countField
	fieldCount
)

// fieldNames are the names in files.
var fieldNames = [fieldCount]string{
	"from", "to", "leo", "hw", "records", "follower", "leader", "old_leader", "unclean", "old", "new", "waiting_for",
	"correlation", "phase", "what", "key", "deadline_ns", "path", "op", "version", "owner", "error", "why",
	"bytes", "member", "generation", "producer", "producer_epoch", "count",
}

// layouts is the one table of what each kind carries, in the order of writing.
var layouts = [kinds]struct {
	name   string
	fields []field
}{
	Append:    {"append", []field{fromField, toField, recordsField, hwField}},
	Fsync:     {"fsync", []field{toField, leoField, errorField}},
	Fetch:     {"fetch", []field{phaseField, followerField, correlationField, fromField, recordsField, bytesField, leoField, hwField, errorField}},
	HW:        {"hw", []field{fromField, toField, leoField, waitingField}},
	ISR:       {"isr", []field{phaseField, oldField, newField, versionField, whyField}},
	Leader:    {"leader", []field{phaseField, oldLeaderField, leaderField, newField, uncleanField, whyField}},
	Truncate:  {"truncate", []field{fromField, toField, hwField, whyField}},
	Purgatory: {"purgatory", []field{phaseField, whatField, keyField, deadlineField, errorField}},
	Znode:     {"znode", []field{opField, pathField, versionField, ownerField, errorField, whyField}},
	Fault:     {"fault", []field{phaseField, whatField, newField, whyField}},
	Probe:     {"probe", []field{phaseField, keyField, fromField, errorField}},
	Verdict:   {"verdict", []field{whatField, whyField}},
	Group:     {"group", []field{phaseField, keyField, generationField, countField, whyField}},
	Member:    {"member", []field{phaseField, keyField, memberField, generationField, whyField}},
	Commit:    {"commit", []field{keyField, fromField}},
	Txn:       {"txn", []field{phaseField, keyField, producerField, producerEpochField, countField, whyField}},
	Drop:      {"drop", []field{countField, whyField}},
}

// String is the kind's name in files.
func (k Kind) String() string {
	if k == 0 || k >= kinds {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return layouts[k].name
}

// KindNames are the names of all kinds.
func KindNames() []string {
	var names []string
	for k := Kind(1); k < kinds; k++ {
		names = append(names, layouts[k].name)
	}
	return names
}

func kindOf(name string) (Kind, bool) {
	for k := Kind(1); k < kinds; k++ {
		if layouts[k].name == name {
			return k, true
		}
	}
	return 0, false
}
