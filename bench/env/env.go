// Package env records the machine and the build that a figure came from, and
// what could be changed about them. It only reads; a field that cannot be read
// is empty and says why.
package env

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/load"
	"github.com/shirou/gopsutil/v4/mem"

	"tidemark/bench/result"
)

// collector fills an Env and notes what it could not read.
type collector struct{ env *result.Env }

// Collect describes this machine, with dataDir as the place of the data.
func Collect(dataDir string) *result.Env {
	e := &result.Env{Schema: result.EnvSchema, TakenUTC: time.Now().UTC().Format(time.RFC3339),
		Advice: []result.Advice{}, Unknown: map[string]string{}}
	c := collector{e}
	c.cpu()
	c.memory()
	c.kernel()
	c.disk(dataDir)
	c.network()
	c.limits()
	c.build()
	c.load()
	e.Comparable = comparable(e)
	name := e.Hostname
	sum := sha256.Sum256([]byte(name + e.CPU.Model))
	e.Host = hex.EncodeToString(sum[:3])
	e.Advice = advise(e)
	return e
}

func (c collector) unknown(field string, err error) {
	c.env.Unknown[field] = err.Error()
}

// file returns a one-line file's content, or notes why there is none.
func (c collector) file(field, path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		c.unknown(field, err)
		return ""
	}
	return strings.TrimSpace(string(data))
}

// chosen returns the bracketed word of a file such as "always [madvise] never".
func (c collector) chosen(field, path string) string {
	text := c.file(field, path)
	_, rest, ok := strings.Cut(text, "[")
	if !ok {
		return text
	}
	word, _, _ := strings.Cut(rest, "]")
	return word
}

func (c collector) cpu() {
	e := &c.env.CPU
	e.Logical = runtime.NumCPU()
	if infos, err := cpu.Info(); err != nil || len(infos) == 0 {
		c.unknown("cpu.model", fmt.Errorf("no processor listed: %v", err))
	} else {
		e.Model, e.Vendor, e.Microcode, e.MHz = infos[0].ModelName, infos[0].VendorID, infos[0].Microcode, infos[0].Mhz
	}
	if n, err := cpu.Counts(false); err == nil {
		e.Cores = n
	} else {
		c.unknown("cpu.cores", err)
	}
	e.Governor = c.file("cpu.governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	e.SMT = c.file("cpu.smt", "/sys/devices/system/cpu/smt/control")
	if text, err := os.ReadFile("/sys/devices/system/cpu/intel_pstate/no_turbo"); err == nil {
		e.Turbo = map[string]string{"0": "on", "1": "off"}[strings.TrimSpace(string(text))]
	} else if text, err := os.ReadFile("/sys/devices/system/cpu/cpufreq/boost"); err == nil {
		e.Turbo = map[string]string{"1": "on", "0": "off"}[strings.TrimSpace(string(text))]
	} else {
		c.unknown("cpu.turbo", err)
	}
	nodes, _ := filepath.Glob("/sys/devices/system/node/node[0-9]*") // the pattern is well formed
	e.NUMANodes = len(nodes)
	e.Quota = c.file("cpu.cgroup_quota", "/sys/fs/cgroup/cpu.max")
	if system, role, err := host.Virtualization(); err == nil && role == "guest" {
		e.Hypervisor = system
	}
	if t, err := cpu.Times(false); err == nil && len(t) == 1 {
		total := t[0].User + t[0].System + t[0].Idle + t[0].Nice + t[0].Iowait + t[0].Irq + t[0].Softirq + t[0].Steal
		if total > 0 {
			e.StealRatio = t[0].Steal / total
		}
	} else {
		c.unknown("cpu.steal_ratio_since_boot", fmt.Errorf("no totals: %v", err))
	}
}

func (c collector) memory() {
	e := &c.env.Memory
	if m, err := mem.VirtualMemory(); err == nil {
		e.TotalBytes, e.AvailableBytes = int64(m.Total), int64(m.Available)
	} else {
		c.unknown("memory.total_bytes", err)
	}
	if s, err := mem.SwapMemory(); err == nil {
		e.SwapBytes = int64(s.Total)
	} else {
		c.unknown("memory.swap_bytes", err)
	}
	e.CgroupLimit = c.file("memory.cgroup_limit", "/sys/fs/cgroup/memory.max")
	e.TransparentHugePages = c.chosen("memory.transparent_hugepages", "/sys/kernel/mm/transparent_hugepage/enabled")
	e.Defrag = c.chosen("memory.transparent_hugepages_defrag", "/sys/kernel/mm/transparent_hugepage/defrag")
	e.Swappiness = c.file("memory.swappiness", "/proc/sys/vm/swappiness")
	e.DirtyRatio = c.file("memory.dirty_ratio", "/proc/sys/vm/dirty_ratio")
	e.DirtyBackgroundRatio = c.file("memory.dirty_background_ratio", "/proc/sys/vm/dirty_background_ratio")
	e.DirtyExpireCs = c.file("memory.dirty_expire_centisecs", "/proc/sys/vm/dirty_expire_centisecs")
	e.Overcommit = c.file("memory.overcommit_memory", "/proc/sys/vm/overcommit_memory")
}

func (c collector) kernel() {
	e := &c.env.Kernel
	e.OS, e.Arch = runtime.GOOS, runtime.GOARCH
	if name, err := os.Hostname(); err == nil {
		c.env.Hostname = name
	} else {
		c.unknown("hostname", err)
	}
	if info, err := host.Info(); err == nil {
		e.Distro, e.Release = strings.TrimSpace(info.Platform+" "+info.PlatformVersion), info.KernelVersion
	} else {
		c.unknown("kernel.release", err)
	}
	e.CmdLine = c.file("kernel.cmdline", "/proc/cmdline")
	e.ClockSource = c.file("kernel.clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource")
	files, _ := filepath.Glob("/sys/devices/system/cpu/vulnerabilities/*") // the pattern is well formed
	var on []string
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && strings.HasPrefix(string(text), "Mitigation") {
			on = append(on, filepath.Base(f))
		}
	}
	e.Mitigations = strings.Join(on, " ")
}

func (c collector) disk(dir string) {
	e := &c.env.Disk
	abs, err := filepath.Abs(dir)
	if err != nil {
		c.unknown("disk.path", err)
		return
	}
	e.Path = abs
	if u, err := disk.Usage(existing(abs)); err == nil {
		e.TotalBytes, e.FreeBytes = int64(u.Total), int64(u.Free)
	} else {
		c.unknown("disk.free_bytes", err)
	}
	parts, err := disk.Partitions(true)
	if err != nil {
		c.unknown("disk.filesystem", err)
		return
	}
	for _, p := range parts {
		inside := p.Mountpoint == "/" || abs == p.Mountpoint || strings.HasPrefix(abs, p.Mountpoint+"/")
		if inside && len(p.Mountpoint) >= len(e.Mount) {
			e.Mount, e.Device, e.FileSystem, e.Options = p.Mountpoint, p.Device, p.Fstype, strings.Join(p.Opts, ",")
		}
	}
	e.Tmpfs = e.FileSystem == "tmpfs" || e.FileSystem == "ramfs"
	if e.Tmpfs {
		return
	}
	queue := filepath.Join("/sys/class/block", filepath.Base(e.Device), "queue")
	if _, err := os.Stat(queue); err != nil {
		queue = filepath.Join("/sys/class/block", filepath.Base(e.Device), "..", "queue") // a partition
		if link, err := filepath.EvalSymlinks(filepath.Join("/sys/class/block", filepath.Base(e.Device))); err == nil {
			queue = filepath.Join(filepath.Dir(link), "queue")
		}
	}
	e.Rotational = c.file("disk.rotational", filepath.Join(queue, "rotational"))
	e.Scheduler = c.chosen("disk.scheduler", filepath.Join(queue, "scheduler"))
	e.Requests = c.file("disk.nr_requests", filepath.Join(queue, "nr_requests"))
	e.WriteCache = c.file("disk.write_cache", filepath.Join(queue, "write_cache"))
}

// existing is dir or its nearest parent that exists.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

func (c collector) load() {
	e := &c.env.Load
	if l, err := load.Avg(); err == nil {
		e.Load1, e.Load5 = l.Load1, l.Load5
	} else {
		c.unknown("load.load1", err)
	}
	var err error
	if e.OthersRatio, e.Processes, err = others(); err != nil {
		c.unknown("load.others_ratio", err)
	}
	if e.NTP, err = ntp("timedatectl"); err != nil {
		c.unknown("load.ntp", err)
	}
}

// comparable hashes what must be equal for two figures to share an axis.
func comparable(e *result.Env) string {
	key, err := json.Marshal([]any{e.CPU.Model, e.CPU.Logical, e.CPU.Quota, e.CPU.Hypervisor, e.Memory.TotalBytes >> 28,
		e.Memory.TransparentHugePages, e.Kernel.OS, e.Kernel.Arch, e.Kernel.Release, e.Disk.FileSystem, e.Disk.Options, e.Disk.Rotational})
	if err != nil {
		return "" // strings and numbers always encode
	}
	return result.Digest(key)
}
