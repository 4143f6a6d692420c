package target

import (
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/procfs"

	"tidemark/bench/load"
)

// probe reads /proc; what cannot be read is zero, which means unknown.
type probe struct {
	fs procfs.FS
	ok bool
	// brokers, store and mesh are processes of the target; 0 is none.
	brokers     []int
	store, mesh int
	// debt is where the broker tells its durability debt; empty where nowhere.
	debt   string
	client http.Client
}

// debtPatience is how long a broker may take to tell its debt: the samples beside
// it must not wait.
const debtPatience = 200 * time.Millisecond

// tickNs is the unit of CPU times in /proc: USER_HZ is 100 on every platform Go
// runs on.
const tickNs = 10_000_000

func newProbe() *probe {
	fs, err := procfs.NewDefaultFS()
	// One connection is kept: a new one for each sample costs client and broker twice.
	return &probe{fs: fs, ok: err == nil, client: http.Client{Timeout: debtPatience, Transport: &http.Transport{MaxIdleConns: 1}}}
}

// close ends the connection to the broker.
func (p *probe) close() { p.client.CloseIdleConnections() }

// Debt implements load.Debtor.
func (p *probe) Debt() int64 {
	if p.debt == "" {
		return -1
	}
	answer, err := p.client.Get(p.debt)
	if err != nil {
		return -1
	}
	defer answer.Body.Close() // Only read from.
	var records int64
	if _, err := fmt.Fscan(answer.Body, &records); err != nil || answer.StatusCode != http.StatusOK {
		return -1
	}
	return records
}

// Broker implements load.Probe: of all brokers together.
func (p *probe) Broker() (all load.Usage) {
	for _, pid := range p.brokers {
		u := p.usage(pid)
		all.UserNs += u.UserNs
		all.SysNs += u.SysNs
		all.RSSAnonBytes += u.RSSAnonBytes
	}
	return all
}

// Store implements load.Clustered.
func (p *probe) Store() load.Usage { return p.usage(p.store) }

// Mesh implements load.Clustered.
func (p *probe) Mesh() load.Usage { return p.usage(p.mesh) }

// Client implements load.Probe.
func (p *probe) Client() load.Usage { return p.usage(os.Getpid()) }

func (p *probe) usage(pid int) load.Usage {
	if !p.ok || pid == 0 {
		return load.Usage{}
	}
	proc, err := p.fs.Proc(pid)
	if err != nil {
		return load.Usage{}
	}
	stat, err := proc.Stat()
	if err != nil {
		return load.Usage{}
	}
	u := load.Usage{UserNs: int64(stat.UTime) * tickNs, SysNs: int64(stat.STime) * tickNs}
	if m, err := proc.Statm(); err == nil { // what status calls RssAnon, for a third of its cost
		u.RSSAnonBytes = int64(m.Resident-m.Shared) * int64(os.Getpagesize())
	}
	return u
}

// Threads implements load.Probe.
func (p *probe) Threads() map[int]int64 {
	out := map[int]int64{}
	if !p.ok {
		return out
	}
	threads, err := p.fs.AllThreads(os.Getpid())
	if err != nil {
		return out
	}
	for _, t := range threads {
		if stat, err := t.Stat(); err == nil {
			out[t.PID] = int64(stat.UTime+stat.STime) * tickNs
		}
	}
	return out
}

// Machine implements load.Probe.
func (p *probe) Machine() load.Machine {
	if !p.ok {
		return load.Machine{}
	}
	stat, err := p.fs.Stat()
	if err != nil {
		return load.Machine{}
	}
	c := stat.CPUTotal
	ns := func(seconds float64) int64 { return int64(seconds * 1e9) }
	return load.Machine{TotalNs: ns(c.User + c.Nice + c.System + c.Idle + c.Iowait + c.IRQ + c.SoftIRQ + c.Steal),
		IdleNs: ns(c.Idle + c.Iowait), StealNs: ns(c.Steal)}
}
