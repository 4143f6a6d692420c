package env

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/process"
)

// watched is how long other programs are watched. A load average would still
// hold what ended minutes ago, such as the build of this program.
const watched = 500 * time.Millisecond

// usage is processor time in seconds at one instant.
type usage struct {
	total, busy float64
	byProcess   map[int32]float64
}

// others watches what other programs use: their share of the machine, and up to
// five of them, busiest first. This process and those that started it are left
// out; they wait.
func others() (ratio float64, busiest []string, err error) {
	processes, err := process.Processes()
	if err != nil {
		return 0, []string{}, fmt.Errorf("list processes: %w", err)
	}
	before, err := used(processes)
	if err != nil {
		return 0, []string{}, err
	}
	time.Sleep(watched)
	after, err := used(processes)
	if err != nil {
		return 0, []string{}, err
	}
	ratio, pids := compareUsage(before, after, family())
	names := map[int32]string{}
	for _, p := range processes {
		if name, err := p.Name(); err == nil {
			names[p.Pid] = name
		}
	}
	busiest = []string{}
	for _, pid := range pids {
		if names[pid] == "" || len(busiest) == 5 {
			continue // it ended meanwhile, or there are enough
		}
		share := (after.byProcess[pid] - before.byProcess[pid]) / (after.total - before.total) * float64(runtime.NumCPU())
		busiest = append(busiest, fmt.Sprintf("%s (pid %d) %.0f%%", names[pid], pid, 100*share))
	}
	return ratio, busiest, nil
}

// compareUsage is the share of the machine that was used and not by own, and the
// other processes that used at least a twentieth of a processor, busiest first.
func compareUsage(before, after usage, own map[int32]bool) (ratio float64, pids []int32) {
	total := after.total - before.total
	if total <= 0 {
		return 0, nil
	}
	busy := after.busy - before.busy
	spent := map[int32]float64{}
	for pid, now := range after.byProcess {
		old, ok := before.byProcess[pid]
		switch {
		case !ok:
		case own[pid]:
			busy -= now - old
		case (now-old)*float64(runtime.NumCPU()) >= 0.05*total:
			spent[pid] = now - old
			pids = append(pids, pid)
		}
	}
	sort.Slice(pids, func(i, j int) bool { return spent[pids[i]] > spent[pids[j]] })
	return max(0, busy/total), pids
}

func used(processes []*process.Process) (usage, error) {
	u := usage{byProcess: map[int32]float64{}}
	t, err := cpu.Times(false)
	if err != nil || len(t) != 1 {
		return u, fmt.Errorf("no processor times: %v", err)
	}
	u.busy = t[0].User + t[0].System + t[0].Nice + t[0].Irq + t[0].Softirq + t[0].Steal
	u.total = u.busy + t[0].Idle + t[0].Iowait
	for _, p := range processes {
		if t, err := p.Times(); err == nil {
			u.byProcess[p.Pid] = t.User + t.System
		}
	}
	return u, nil
}

// family is this process and its ancestors.
func family() map[int32]bool {
	out := map[int32]bool{}
	for pid := int32(os.Getpid()); pid > 0 && !out[pid]; {
		out[pid] = true
		p, err := process.NewProcess(pid)
		if err != nil {
			break
		}
		if pid, err = p.Ppid(); err != nil {
			break
		}
	}
	return out
}
