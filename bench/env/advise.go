package env

import (
	"fmt"
	"strings"

	"tidemark/bench/result"
)

// Thresholds of advice.
const (
	muchOthers = 0.15 // of the machine, which marks a run degraded
	fewFiles   = 4096
	muchSteal  = 0.01
	leastBytes = 8 << 30
)

// advise lists what would make figures steadier or higher here. Each finding
// says what is so, why it matters, what to expect and how to test it; nothing is
// applied, and nobody knows better than a run with and without it.
func advise(e *result.Env) []result.Advice {
	out := []result.Advice{}
	add := func(fact, why, effect, test string) {
		out = append(out, result.Advice{Fact: fact, Why: why, Effect: effect, Test: test})
	}
	if e.CPU.Governor != "" && e.CPU.Governor != "performance" {
		add("CPU governor is "+e.CPU.Governor, "cores change their frequency during a run", "steadier figures, lower latency at low load",
			"cpupower frequency-set -g performance, then tidemark bench run smoke")
	}
	if e.Load.OthersRatio > muchOthers {
		test := "find out what is running, then tidemark doctor again"
		if len(e.Load.Processes) > 0 {
			test = "stop what need not run of " + strings.Join(e.Load.Processes, ", ")
		}
		add(fmt.Sprintf("other programs took %.0f %% of the machine just now", 100*e.Load.OthersRatio),
			"they take processor time from broker and generator", "narrower intervals", test)
	}
	if e.CPU.StealRatio > muchSteal {
		add(fmt.Sprintf("%.1f %% of CPU time was stolen since boot", 100*e.CPU.StealRatio), "the hypervisor runs other machines on these cores",
			"runs with steal above 1 % are marked degraded", "a host with dedicated cores")
	}
	if e.Disk.Tmpfs {
		add("the data directory is "+e.Disk.FileSystem, "it is memory: syncs cost nothing there", "no figure says anything about a disk",
			"--data on a disk")
	}
	if e.Disk.FreeBytes > 0 && e.Disk.FreeBytes < leastBytes {
		add(fmt.Sprintf("%.1f GB are free for data", float64(e.Disk.FreeBytes)/1e9), "runs that write more than half of it are refused",
			"sustained cells need room", "--data on a larger disk")
	}
	if e.Memory.TransparentHugePages == "always" && e.Memory.Defrag == "always" {
		add("transparent huge pages defragment on fault", "a page fault may wait for compaction", "fewer latency spikes with mapped engines",
			"echo defer > /sys/kernel/mm/transparent_hugepage/defrag, then compare")
	}
	if e.Memory.SwapBytes > 0 && e.Memory.Swappiness != "" && e.Memory.Swappiness != "1" && e.Memory.Swappiness != "0" {
		add("swappiness is "+e.Memory.Swappiness, "the kernel may swap the broker out for page cache", "steadier tails under memory pressure",
			"sysctl vm.swappiness=1, then compare")
	}
	if e.Kernel.ClockSource != "" && e.Kernel.ClockSource != "tsc" && e.Kernel.ClockSource != "kvm-clock" && e.Kernel.ClockSource != "arch_sys_counter" {
		add("clocksource is "+e.Kernel.ClockSource, "reading the clock is a system call", "less overhead for every measured request",
			"clocksource=tsc on the kernel command line")
	}
	var files int
	if _, err := fmt.Sscanf(e.Limits.OpenFiles, "%d", &files); err == nil && files < fewFiles {
		add(fmt.Sprintf("open files are limited to %d", files), "each partition holds several files open", "many partitions fail to open",
			"ulimit -n 65536")
	}
	return out
}
