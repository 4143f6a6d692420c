package cli

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/bench/process"
)

// localCluster is what clients are to know of the cluster that `tidemark cluster` is
// about without --name and --dir. The zero value is none.
type localCluster struct {
	dir string
	// all are its brokers' addresses, running those whose processes run.
	all, running []string
}

// findLocalCluster looks into the state that `tidemark cluster up` leaves.
func findLocalCluster() (l localCluster) {
	f := clusterFlags{name: localName}
	c, s, ok := f.state()
	if !ok {
		return l
	}
	l.dir = fromHere(c.Dir())
	for _, b := range s.Brokers {
		l.all = append(l.all, b.Address)
		if b.State() == process.Running {
			l.running = append(l.running, b.Address)
		}
	}
	return l
}

// addresses are where to ask: those of bootstrap or, where that is empty, the default
// one, for which any broker of its cluster answers. A broker that does not run is left
// out: a stranger may have its port by now.
func (l localCluster) addresses(bootstrap string) []string {
	switch {
	case bootstrap != "":
		return strings.Split(bootstrap, ",")
	case slices.Contains(l.all, defaultBootstrap) && len(l.running) > 0:
		return l.running
	}
	return []string{defaultBootstrap}
}

// hint says what to do where none of the addresses answers.
func (l localCluster) hint(asked []string) string {
	ours := slices.ContainsFunc(asked, func(a string) bool { return slices.Contains(l.all, a) })
	switch {
	case ours && len(l.running) == 0:
		return fmt.Sprintf("no broker of the cluster in %s runs: `tidemark cluster status` shows it, `tidemark cluster up` goes on with it where all of it is down", l.dir)
	case ours:
		return fmt.Sprintf("of the cluster in %s there run %s; `tidemark cluster status` shows it", l.dir, strings.Join(l.running, ","))
	case len(l.running) > 0:
		return fmt.Sprintf("is one running there? The cluster in %s is at --bootstrap %s; `tidemark broker` starts a broker of its own", l.dir, strings.Join(l.running, ","))
	}
	hint := "is one running there? `tidemark broker` starts one"
	if len(l.all) > 0 {
		hint += ", `tidemark cluster up` goes on with the cluster in " + l.dir
	}
	return hint
}
