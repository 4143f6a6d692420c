package env

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/bench/result"
)

// TestEveryProbeMayFail: what cannot be read is empty and says why, and the
// record is made all the same.
func TestEveryProbeMayFail(t *testing.T) {
	e := Collect(t.TempDir() + "/not/there/yet")
	if e.Schema != result.EnvSchema || e.CPU.Logical == 0 || e.Kernel.OS == "" || len(e.Host) != 6 || e.Build.Go == "" {
		t.Errorf("record %+v", e)
	}
	if e.CPU.Governor == "" && e.Unknown["cpu.governor"] == "" {
		t.Error("the governor is neither known nor said to be unknown")
	}
	if (e.Load.NTP == "") != (e.Unknown["load.ntp"] != "") {
		t.Errorf("clock %q, unknown because of %q: want one of the two", e.Load.NTP, e.Unknown["load.ntp"])
	}
	if got, err := ntp("/no/such/tool"); got != "" || err == nil || !strings.Contains(err.Error(), "/no/such/tool") {
		t.Errorf("a missing tool: %q, %v", got, err)
	}
	c := collector{&result.Env{Unknown: map[string]string{}}}
	if got := c.file("x.y", "/no/such/file"); got != "" || !strings.Contains(c.env.Unknown["x.y"], "/no/such/file") {
		t.Errorf("missing file: %q, unknown %v", got, c.env.Unknown)
	}
}

func TestComparableFollowsTheHardware(t *testing.T) {
	a := Collect(t.TempDir())
	b := *a
	b.TakenUTC, b.Load.Load1, b.Memory.AvailableBytes, b.Disk.FreeBytes, b.Build.Commit = "later", 9, 1, 1, "other"
	if comparable(a) != comparable(&b) {
		t.Error("load, free space and commit changed what is comparable")
	}
	b.CPU.Model = "another"
	if comparable(a) == comparable(&b) {
		t.Error("another processor is comparable")
	}
}

func TestAdvice(t *testing.T) {
	quiet := result.Env{}
	quiet.CPU.Logical, quiet.CPU.Governor, quiet.Kernel.ClockSource, quiet.Limits.OpenFiles = 2, "performance", "tsc", "65536 65536 files"
	if diff := cmp.Diff([]result.Advice{}, advise(&quiet)); diff != "" {
		t.Errorf("advice for a quiet machine:\n%s", diff)
	}
	quiet.Load.Load1 = 4 // the build of this program, a minute ago
	if got := advise(&quiet); len(got) != 0 {
		t.Errorf("advice because of a load that is over: %+v", got)
	}
	noisy := quiet
	noisy.CPU.Governor, noisy.Load.OthersRatio, noisy.Disk.Tmpfs, noisy.Limits.OpenFiles = "powersave", 0.4, true, "1024 4096 files"
	if got := advise(&noisy); len(got) != 4 {
		t.Errorf("%d findings for governor, load, tmpfs and open files: %+v", len(got), got)
	}
}

// TestOwnTimeIsNotOthers: what this process and its ancestors use is not charged
// to others, and only processes that use much are named.
func TestOwnTimeIsNotOthers(t *testing.T) {
	before := usage{total: 100, busy: 50, byProcess: map[int32]float64{1: 5, 2: 5, 3: 5, 4: 5}}
	after := usage{total: 102, busy: 51.5, byProcess: map[int32]float64{1: 5.5, 2: 5.3, 3: 5.6, 4: 5.0001, 5: 9}}
	ratio, pids := compareUsage(before, after, map[int32]bool{1: true})
	if ratio < 0.499 || ratio > 0.501 {
		t.Errorf("others took %v of the machine, want 0.5", ratio)
	}
	if diff := cmp.Diff([]int32{3, 2}, pids); diff != "" {
		t.Errorf("busiest others:\n%s", diff)
	}
	if !family()[int32(os.Getppid())] {
		t.Error("the parent is not of the family")
	}
}
