package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"tidemark/bench/cluster"
	"tidemark/bench/fault/proxy"
)

// clusterStarted is what `cluster up --json` prints.
type clusterStarted struct {
	Dir       string `json:"dir"`
	Bootstrap string `json:"bootstrap"`
	Zookeeper string `json:"zookeeper"`
	Proxy     bool   `json:"proxy"`
	// EarlierTraces is where the traces of an earlier cluster in the directory are.
	EarlierTraces string            `json:"earlier_traces,omitempty"`
	Brokers       []cluster.Process `json:"brokers"`
}

func announceCluster(app *App, f *clusterFlags, dir string, s *cluster.State, detached bool) error {
	if app.JSON {
		started := clusterStarted{Dir: dir, Bootstrap: s.Bootstrap(), Zookeeper: s.Connect + s.Chroot, Proxy: s.Proxy, Brokers: s.Brokers}
		if s.EarlierTraces != "" {
			started.EarlierTraces = filepath.Join(dir, s.EarlierTraces)
		}
		return json.NewEncoder(app.Out).Encode(started)
	}
	return printStarted(app.Out, f, dir, s, detached)
}

// printStarted is the welcome.
func printStarted(w io.Writer, f *clusterFlags, dir string, s *cluster.State, detached bool) error {
	brokers := "1 broker"
	if len(s.Brokers) > 1 {
		brokers = fmt.Sprintf("%d brokers", len(s.Brokers))
	}
	fmt.Fprintf(w, "%s up\n\n", brokers)
	var rows [][2]string
	for _, b := range s.Brokers {
		rows = append(rows, [2]string{fmt.Sprintf("broker %d", b.Broker), fmt.Sprintf("%s   process %d   metrics http://%s/metrics", b.Address, b.ID.Pid, b.Metrics)})
	}
	rows = append(rows, [2]string{"metadata", s.Connect + s.Chroot + " (ZooKeeper protocol)"})
	if s.Proxy {
		rows = append(rows, [2]string{"links", "through proxies: they can be cut"})
	}
	rows = append(rows, [2]string{"settings", strings.Join(s.Settings, " ")}, [2]string{"files", fromHere(dir)})
	if s.EarlierTraces != "" {
		rows = append(rows, [2]string{"set aside", filepath.Join(fromHere(dir), s.EarlierTraces) + ", the traces of an earlier cluster here"})
	}
	for _, row := range rows {
		fmt.Fprintf(w, "  %-9s  %s\n", row[0], row[1])
	}
	printNext(w, fromHere(dir), s, f.which(), detached)
	_, err := fmt.Fprintf(w, "\nclients connect to %s\n", s.Bootstrap())
	if err == nil && !detached {
		_, err = fmt.Fprintln(w, "Ctrl-C shuts it down and keeps the data")
	}
	return err
}

// printNext names the commands that come to mind now.
func printNext(w io.Writer, dir string, s *cluster.State, which string, detached bool) {
	bootstrap := ""
	if address := s.Brokers[0].Address; address != net.JoinHostPort("127.0.0.1", strconv.Itoa(firstPort)) {
		bootstrap = " --bootstrap " + address
	}
	next := [][2]string{
		{"topics create clicks --partitions 3" + bootstrap, ""},
		{"cluster status --watch" + which, "leaders, in-sync replicas, lags, as they change"},
		{"cluster kill 1" + which, "then restart 1; others are pause, resume, stop"},
	}
	if s.Proxy {
		other := string(proxy.Store)
		if len(s.Brokers) > 1 {
			other = "2"
		}
		next = append(next, [2]string{"cluster cut 1 " + other + " --for 30s" + which, "not a byte passes between the two"})
	}
	if s.Trace {
		next = append(next, [2]string{"log trace " + filepath.Join(dir, "traces"), "what happened, and why"})
	}
	if detached {
		next = append(next, [2]string{"cluster down" + which, "ends it all; --keep keeps the data"})
	}
	width := 0
	for _, n := range next {
		if n[1] != "" {
			width = max(width, len(n[0]))
		}
	}
	fmt.Fprintln(w, "\nnext")
	for _, n := range next {
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("  tidemark %-*s  %s", width, n[0], n[1]), " "))
	}
}
