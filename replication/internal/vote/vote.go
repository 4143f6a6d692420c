// Package vote writes elections in a line, for tables in tests. The candidates
// in order of assignment come first, then the state:
//
//	3 1! 2~:4/17 isr 1 2 3 elr 4 leader 1
//
// A plain number is a live broker in the life that the state recorded; ! is gone,
// ~ bounced, + lives on under a new registration (or left cleanly). :4/17 is its
// answer to FenceReplica, last epoch and log end; @9 after it the directory, if
// it is not its own. new is the first election.
package vote

import (
	"fmt"
	"strings"

	"tidemark/replication"
)

// Dir is the log directory that the state records for a broker.
func Dir(broker int32) replication.DirID { return replication.DirID{15: byte(broker)} }

// recorded is the broker epoch that the state records for a broker.
func recorded(broker int32) int64 { return 100 + int64(broker) }

// Candidates reads a line.
func Candidates(line string) replication.Candidates {
	c := replication.Candidates{LastLeader: replication.NoBroker}
	section := ""
	for _, word := range strings.Fields(line) {
		switch word {
		case "new":
			c.New = true
			continue
		case "isr", "elr", "leader":
			section = word
			continue
		}
		if section == "" {
			c.Replicas = append(c.Replicas, candidate(word))
			continue
		}
		var b int32
		scan(word, "%d", &b)
		m := replication.Member{Broker: b, BrokerEpoch: recorded(b), Dir: Dir(b)}
		switch section {
		case "isr":
			c.ISR = append(c.ISR, m)
		case "elr":
			c.ELR = append(c.ELR, m)
		case "leader":
			c.LastLeader = b
		}
	}
	return c
}

func candidate(word string) replication.Candidate {
	word, answer, answered := strings.Cut(word, ":")
	var b int32
	scan(word, "%d", &b)
	who := replication.Candidate{Broker: b, Live: true, BrokerEpoch: recorded(b), CleanEpoch: replication.NoBrokerEpoch}
	switch word[len(word)-1] {
	case '!':
		who.Live = false
	case '~':
		who.BrokerEpoch += 1000
	case '+':
		who.BrokerEpoch, who.CleanEpoch = who.BrokerEpoch+1000, who.BrokerEpoch
	}
	if answered {
		who.Answered, who.Dir = true, Dir(b)
		answer, other, moved := strings.Cut(answer, "@")
		scan(answer, "%d/%d", &who.LastEpoch, &who.LogEndOffset)
		if moved {
			var d int32
			scan(other, "%d", &d)
			who.Dir = Dir(d)
		}
	}
	return who
}

// scan reads what must be there: a table that is misspelt is a broken test.
func scan(word, format string, into ...any) {
	if _, err := fmt.Sscanf(word, format, into...); err != nil {
		panic(fmt.Sprintf("%q: %v", word, err))
	}
}

// Outcome writes a decision in a line.
func Outcome(d replication.Decision) string {
	out := "leader -"
	if d.Leader != replication.NoBroker {
		out = fmt.Sprintf("leader %d", d.Leader)
	}
	out += " isr" + list(d.ISR)
	if len(d.ELR) > 0 {
		out += " elr" + list(d.ELR)
	}
	if len(d.Fence) > 0 {
		out += fmt.Sprintf(" fence %s", strings.Trim(fmt.Sprint(d.Fence), "[]"))
	}
	if d.Unclean {
		out += " unclean"
	}
	return out
}

func list(set []replication.Member) string {
	if len(set) == 0 {
		return " -"
	}
	var out strings.Builder
	for _, m := range set {
		fmt.Fprintf(&out, " %d", m.Broker)
	}
	return out.String()
}
