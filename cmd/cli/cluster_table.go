package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/bench/cluster"
	"tidemark/bench/fault/proxy"
	"tidemark/bench/process"
)

// printClusterStatus is what `cluster status` prints on a terminal of so many columns; 0 is
// any number.
func printClusterStatus(w io.Writer, s *cluster.Status, now time.Time, columns int) error {
	printHead(w, s, now)
	brokers := []column{{head: "BROKER"}, {head: "ADDRESS"}, {head: "PROCESS", right: true}, {head: "STATE"}, {head: "LEADS", right: true}, {head: "IN SYNC", right: true}}
	if err := (ruled{columns, brokers, brokerRows(s)}).print(w); err != nil {
		return err
	}
	if s.Mesh != "" && !isDown(s) {
		if err := printLinks(w, s, now, columns); err != nil {
			return err
		}
	}
	if len(s.Partitions) == 0 {
		_, err := fmt.Fprintln(w, "\n  no partitions to show")
		return err
	}
	fmt.Fprintln(w)
	partitions := []column{{head: "PARTITION"}, {head: "STRATEGY", spare: true}, {head: "EPOCH", right: true, spare: true}, {head: "ISR"}, {head: "REPLICA"},
		{head: "LEO", right: true}, {head: "HW", right: true}, {head: "LAG", right: true}, {head: "BEHIND", right: true}}
	return ruled{columns, partitions, partitionRows(s)}.print(w)
}

// isDown says whether nothing of the cluster runs, as `cluster down --keep` leaves it.
func isDown(s *cluster.Status) bool {
	return s.Store != process.Running && !slices.ContainsFunc(s.Brokers, func(b cluster.BrokerStatus) bool { return b.State != process.Gone })
}

// printHead says which cluster it is, and how it is.
func printHead(w io.Writer, s *cluster.Status, now time.Time) {
	fmt.Fprintf(w, "cluster in %s, ", fromHere(s.Dir))
	if isDown(s) {
		fmt.Fprint(w, "down\n\n")
		return
	}
	fmt.Fprintf(w, "up for %s, metadata in %s", roughly(now.Sub(s.Started)), s.Zookeeper)
	if s.Store != "" && s.Store != process.Running {
		fmt.Fprintf(w, " (%s)", s.Store)
	}
	fmt.Fprint(w, "\n\n")
}

func brokerRows(s *cluster.Status) []row {
	var rows []row
	for _, b := range s.Brokers {
		pid, state := strconv.Itoa(b.Pid), stateWord(b.State)
		if b.State == process.Gone {
			pid = ""
		}
		if b.ID == s.Controller {
			state += ", controller"
		}
		r := row{cells: []string{strconv.Itoa(int(b.ID)), b.Address, pid, state, strconv.Itoa(b.Leads), fmt.Sprintf("%d of %d", b.InSync, b.Replicas)}}
		if b.Error != "" {
			r.note = note(b.Error)
		}
		rows = append(rows, r)
	}
	return rows
}

// stateWord is what people call it.
func stateWord(s process.State) string {
	if s == process.Gone {
		return "down"
	}
	return string(s)
}

// printLinks shows the rules of the mesh, a line for each pair.
func printLinks(w io.Writer, s *cluster.Status, now time.Time, columns int) error {
	if s.Mesh != process.Running {
		_, err := fmt.Fprintf(w, "\n  the proxies are %s: nothing reaches anybody\n", s.Mesh)
		return err
	}
	if len(s.Faults) == 0 {
		return nil
	}
	held := map[proxy.Flow]proxy.Rule{}
	for _, f := range s.Faults {
		held[f.Flow] = f.Rule
	}
	var rows []row
	for _, f := range s.Faults {
		arrow, both := "→", false
		if r, ok := held[f.Flow.Back()]; ok && r == f.Rule {
			arrow, both = "↔", true
		}
		if both && f.From > f.To {
			continue // it is told with the other direction
		}
		rows = append(rows, row{cells: []string{fmt.Sprintf("%s %s %s", f.From, arrow, f.To), linkWords(f.Rule), roughly(now.Sub(f.Start)) + " ago"}})
	}
	fmt.Fprintln(w)
	return ruled{columns, []column{{head: "LINK"}, {head: "RULE"}, {head: "BEGAN", right: true}}, rows}.print(w)
}

func partitionRows(s *cluster.Status) []row {
	states := map[int32]string{}
	for _, b := range s.Brokers {
		states[b.ID] = stateWord(b.State)
	}
	var rows []row
	for _, p := range s.Partitions {
		isr := spaced(p.ISR)
		switch {
		case p.Pending:
			isr += " changing"
		case len(p.ISR) < p.MinISR:
			isr += fmt.Sprintf(" (min %d)", p.MinISR)
		}
		for i, r := range p.Replicas {
			cells := []string{"", "", "", "", replicaName(&p, &r, states[r.Broker]), offset(r.End), offset(r.Watermark), "", ""}
			if r.Broker != p.Leader {
				cells[7], cells[8] = offset(r.Lag), behind(&r)
			}
			if i == 0 {
				copy(cells, []string{fmt.Sprintf("%s-%d", p.Topic, p.Partition), p.Strategy, strconv.Itoa(int(p.LeaderEpoch)), isr})
			}
			rows = append(rows, row{cells: cells})
		}
		for _, text := range []string{refused(&p), why(&p)} {
			if text != "" {
				rows[len(rows)-1].note += note(text)
			}
		}
	}
	return rows
}

// refused says that and why a leader takes nothing from producers with acks=all.
func refused(p *cluster.PartitionStatus) string {
	if p.Admits || len(p.ISR) >= p.MinISR || !led(p) {
		return ""
	}
	return fmt.Sprintf("acks=all is refused: %d in sync, min.insync.replicas=%d", len(p.ISR), p.MinISR)
}

// why is what is waited for: the high watermark, where there is a leader to say so.
func why(p *cluster.PartitionStatus) string {
	if p.Waiting != "" && led(p) {
		return "the HW waits: " + p.Waiting
	}
	return p.Waiting
}

// led says whether the leader itself has told of the partition.
func led(p *cluster.PartitionStatus) bool {
	return slices.ContainsFunc(p.Replicas, func(r cluster.ReplicaStatus) bool { return r.Broker == p.Leader && r.Role == "leader" })
}

// replicaName marks a replica by what it is: ★ leads, ● is in sync, ○ is not. state is
// its broker's.
func replicaName(p *cluster.PartitionStatus, r *cluster.ReplicaStatus, state string) string {
	name := fmt.Sprintf("○ %d", r.Broker)
	if r.InSync {
		name = fmt.Sprintf("● %d", r.Broker)
	}
	if r.Broker == p.Leader {
		name = fmt.Sprintf("★ %d", r.Broker)
	}
	switch {
	case r.Role == "" && state == string(process.Running):
		return name + " silent"
	case r.Role == "":
		return name + " " + state
	case r.Role == "leader" && r.Broker != p.Leader:
		return name + " old leader"
	case r.Role == "follower":
		return name
	}
	return name + " " + r.Role
}

// behind is how long ago a follower last had everything, where that is worth a word.
func behind(r *cluster.ReplicaStatus) string {
	if r.Lag <= 0 || r.BehindMs < 100 {
		return ""
	}
	return roughly(time.Duration(r.BehindMs) * time.Millisecond)
}

// offset groups digits by thousands; unknown is a question mark.
func offset(v int64) string {
	if v < 0 {
		return "?"
	}
	text := strconv.FormatInt(v, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}

func spaced(ids []int32) string {
	var all []string
	for _, id := range ids {
		all = append(all, strconv.Itoa(int(id)))
	}
	return strings.Join(all, " ")
}

// fromHere is a path as short as it is from the working directory.
func fromHere(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if short, err := filepath.Rel(here, path); err == nil && !strings.HasPrefix(short, "..") {
		return short
	}
	return path
}

// roughly is a time to read at a glance.
func roughly(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 100*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 100*time.Minute:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.0f h", d.Hours())
}
