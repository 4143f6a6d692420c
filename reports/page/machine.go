package page

import (
	"fmt"
	"sort"
	"strings"

	"tidemark/bench/result"
	"tidemark/reports/chart"
)

// machine shows what the figures were taken on: hardware, system, build, and what
// the machine does without a broker.
func machine(v *view) (Panel, error) {
	p := Panel{Title: "Machine, build and calibration"}
	if v.Env == nil && v.Calib == nil {
		return p, &MissingError{"the folder holds neither env.json nor calib.json: nothing says what machine these figures come from"}
	}
	if v.Env == nil {
		p.Notes = append(p.Notes, "env.json is missing: nothing says what machine these figures come from.")
	} else {
		p.Title = "Taken on " + machineLine(v.Env)
		p.Lead = "Figures of another machine, kernel or file system are never put on the same axis."
		if v.Env.Disk.Tmpfs {
			p.Notes = append(p.Notes, "The data directory is memory (tmpfs): no figure here says anything about a disk.")
		}
		if len(v.Env.Unknown) > 0 {
			var names []string
			for name, why := range v.Env.Unknown {
				names = append(names, name+" ("+why+")")
			}
			sort.Strings(names)
			p.Notes = append(p.Notes, "Not known: "+strings.Join(names, "; ")+".")
		}
		p.Tables = append(p.Tables, factsTable(v.Env))
	}
	if v.Calib == nil {
		p.Notes = append(p.Notes, "calib.json is missing: no ceiling can be drawn.")
	} else {
		p.Tables = append(p.Tables, calibTable(v.Calib))
		p.Caption = fmt.Sprintf("Calibration took %s on %s in the same invocation; each limit stands with the extremes of its samples.", chart.Plain(v.Calib.Seconds)+" s", v.Calib.Dir)
	}
	if v.Env != nil && len(v.Env.Advice) > 0 {
		p.Tables = append(p.Tables, adviceTable(v.Env.Advice))
	}
	return p, nil
}

// machineLine is the machine in one line.
func machineLine(e *result.Env) string {
	var parts []string
	if e.CPU.Logical > 0 {
		parts = append(parts, fmt.Sprintf("%d × %s", e.CPU.Logical, orUnknown(e.CPU.Model)))
	}
	if e.Memory.TotalBytes > 0 {
		parts = append(parts, chart.Bytes(float64(e.Memory.TotalBytes))+" memory")
	}
	if e.Disk.FileSystem != "" {
		parts = append(parts, e.Disk.FileSystem)
	}
	if e.Kernel.Release != "" {
		parts = append(parts, e.Kernel.OS+" "+e.Kernel.Release)
	}
	if e.CPU.Hypervisor != "" {
		parts = append(parts, "virtual ("+e.CPU.Hypervisor+")")
	}
	if len(parts) == 0 {
		return "an unknown machine"
	}
	return strings.Join(parts, ", ")
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// fact is one line of the machine's description.
type fact struct{ part, name, value string }

// rotational is what the kernel says of the disk; of a virtual one it does not know.
func rotational(e *result.Env) string {
	if e.Disk.Rotational == "1" && e.CPU.Hypervisor != "" {
		return "1 (the kernel's default for a virtual disk, which says nothing of the device behind it)"
	}
	return e.Disk.Rotational
}

// facts are what is kept of env.json in the report, empty ones left out.
func facts(e *result.Env) []fact {
	count := func(n int) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprint(n)
	}
	size := func(n int64) string {
		if n == 0 {
			return ""
		}
		return chart.Bytes(float64(n))
	}
	mhz := ""
	if e.CPU.MHz > 0 {
		mhz = fmt.Sprintf("%.0f", e.CPU.MHz)
	}
	commit := e.Build.Commit
	if commit != "" && e.Build.Dirty {
		commit += " with local changes"
	}
	all := []fact{
		{"processor", "model", e.CPU.Model}, {"processor", "logical", count(e.CPU.Logical)}, {"processor", "cores", count(e.CPU.Cores)},
		{"processor", "MHz", mhz}, {"processor", "governor", e.CPU.Governor}, {"processor", "turbo", e.CPU.Turbo}, {"processor", "SMT", e.CPU.SMT},
		{"processor", "NUMA nodes", count(e.CPU.NUMANodes)}, {"processor", "cgroup quota", e.CPU.Quota}, {"processor", "hypervisor", e.CPU.Hypervisor},
		{"processor", "stolen since boot", chart.Percent(e.CPU.StealRatio)},
		{"memory", "total", size(e.Memory.TotalBytes)}, {"memory", "available at start", size(e.Memory.AvailableBytes)}, {"memory", "swap", size(e.Memory.SwapBytes)},
		{"memory", "cgroup limit", e.Memory.CgroupLimit}, {"memory", "transparent huge pages", e.Memory.TransparentHugePages},
		{"memory", "swappiness", e.Memory.Swappiness}, {"memory", "dirty ratio", e.Memory.DirtyRatio}, {"memory", "dirty background ratio", e.Memory.DirtyBackgroundRatio},
		{"kernel", "release", strings.TrimSpace(e.Kernel.OS + " " + e.Kernel.Release)}, {"kernel", "distribution", e.Kernel.Distro}, {"kernel", "clock source", e.Kernel.ClockSource},
		{"kernel", "mitigations", e.Kernel.Mitigations},
		{"disk", "data directory", e.Disk.Path}, {"disk", "file system", strings.TrimSpace(e.Disk.FileSystem + " " + e.Disk.Options)}, {"disk", "device", e.Disk.Device},
		{"disk", "rotational", rotational(e)}, {"disk", "scheduler", e.Disk.Scheduler}, {"disk", "write cache", e.Disk.WriteCache}, {"disk", "free", size(e.Disk.FreeBytes)},
		{"network", "loopback MTU", count(e.Network.LoopbackMTU)}, {"network", "congestion control", e.Network.Congestion},
		{"build", "Go", e.Build.Go}, {"build", "GOMAXPROCS", count(e.Build.GOMAXPROCS)}, {"build", "GOGC", e.Build.GOGC}, {"build", "GOMEMLIMIT", e.Build.GOMEMLIMIT},
		{"build", "commit", commit}, {"build", "binary", e.Build.Binary},
		{"load", "before the first run", fmt.Sprintf("%.2f over 1 minute, %.2f over 5", e.Load.Load1, e.Load.Load5)}, {"load", "busiest processes", strings.Join(e.Load.Processes, ", ")}, {"load", "clock", e.Load.NTP},
		{"key", "comparability", e.Comparable},
	}
	var out []fact
	for _, f := range all {
		if f.value != "" {
			out = append(out, f)
		}
	}
	return out
}

func factsTable(e *result.Env) Table {
	t := Table{Name: "machine and build", Columns: []Column{text("part"), text("fact"), text("value")}}
	for _, f := range facts(e) {
		t.add("", word(f.part), word(f.name), word(f.value))
	}
	return t
}

func calibTable(c *result.Calib) Table {
	t := Table{Name: "calibration", Columns: []Column{text("limit"), text("what"), num("median", ""), num("low", ""), num("high", ""), num("p99", ""), num("samples", "")}}
	for _, l := range c.Limits {
		if l.Unavailable != "" {
			t.add("grey", word(l.ID), word(l.What), word("not taken: "+l.Unavailable), number(nan, ""), number(nan, ""), number(nan, ""), number(nan, ""))
			continue
		}
		f := limitFormat(l.Unit)
		p99 := number(nan, "")
		if l.P99 > 0 {
			p99 = number(l.P99, f(l.P99))
		}
		t.add("", word(l.ID), word(l.What), number(l.Value, f(l.Value)), number(l.Low, f(l.Low)), number(l.High, f(l.High)), p99, number(float64(l.Samples), fmt.Sprint(l.Samples)))
	}
	return t
}

func limitFormat(unit string) chart.Format {
	switch unit {
	case result.UnitBytesPerS:
		return chart.ByteRate
	case result.UnitNs:
		return chart.Nanoseconds
	}
	return func(v float64) string { return chart.Count(v) + "/s" }
}

func adviceTable(advice []result.Advice) Table {
	t := Table{Name: "what doctor would look at", Columns: []Column{text("fact"), text("why it matters"), text("expected effect"), text("how to test it")}}
	for _, a := range advice {
		t.add("", word(a.Fact), word(a.Why), word(a.Effect), word(a.Test))
	}
	return t
}
