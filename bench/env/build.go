package env

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"

	"tidemark/bench/result"
)

func (c collector) network() {
	e := &c.env.Network
	if lo, err := net.InterfaceByName("lo"); err == nil {
		e.LoopbackMTU = lo.MTU
	} else {
		c.unknown("network.loopback_mtu", err)
	}
	e.RmemMax = c.file("network.rmem_max", "/proc/sys/net/core/rmem_max")
	e.WmemMax = c.file("network.wmem_max", "/proc/sys/net/core/wmem_max")
	e.TCPRmem = strings.Join(strings.Fields(c.file("network.tcp_rmem", "/proc/sys/net/ipv4/tcp_rmem")), " ")
	e.TCPWmem = strings.Join(strings.Fields(c.file("network.tcp_wmem", "/proc/sys/net/ipv4/tcp_wmem")), " ")
	e.Congestion = c.file("network.tcp_congestion_control", "/proc/sys/net/ipv4/tcp_congestion_control")
}

func (c collector) limits() {
	e := &c.env.Limits
	for _, line := range strings.Split(c.file("limits", "/proc/self/limits"), "\n") {
		for name, field := range map[string]*string{"Max open files": &e.OpenFiles, "Max locked memory": &e.LockedMemory} {
			if rest, ok := strings.CutPrefix(line, name); ok {
				*field = strings.Join(strings.Fields(rest), " ")
			}
		}
	}
	e.MapCount = c.file("limits.max_map_count", "/proc/sys/vm/max_map_count")
}

// measured are the modules whose version can change a figure.
var measured = []string{"github.com/twmb/franz-go", "github.com/twmb/franz-go/pkg/kmsg", "github.com/klauspost/compress",
	"github.com/pierrec/lz4/v4", "github.com/HdrHistogram/hdrhistogram-go", "golang.org/x/sys"}

func (c collector) build() {
	e := &c.env.Build
	e.Go, e.GOMAXPROCS = runtime.Version(), runtime.GOMAXPROCS(0)
	e.GOGC, e.GOMEMLIMIT = os.Getenv("GOGC"), os.Getenv("GOMEMLIMIT")
	e.Settings, e.Modules = map[string]string{}, map[string]string{}
	e.Commit, e.Dirty = Commit()
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			e.Settings[s.Key] = s.Value
		}
		for _, d := range info.Deps {
			for _, name := range measured {
				if d.Path == name {
					e.Modules[d.Path] = d.Version
				}
			}
		}
	}
	var err error
	if e.Binary, err = Binary(); err != nil {
		c.unknown("build.binary", err)
	}
}

// Commit is the revision this program was built from, "unknown" when the build
// does not say, and whether the tree had changes.
func Commit() (revision string, dirty bool) {
	revision = "unknown"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return revision, false
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			dirty = s.Value == "true"
		}
	}
	return revision, dirty
}

// Binary is the digest of the running program.
func Binary() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read this program: %w", err)
	}
	return result.Digest(data), nil
}

// ntp says whether the clock is synchronised, by the tool that knows.
func ntp(tool string) (string, error) {
	out, err := exec.Command(tool, "show", "-p", "NTPSynchronized", "--value").Output()
	if err != nil {
		return "", fmt.Errorf("ask %s whether the clock is synchronised: %w", tool, err)
	}
	if strings.TrimSpace(string(out)) == "yes" {
		return "synchronised", nil
	}
	return "not synchronised", nil
}
