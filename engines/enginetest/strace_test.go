package enginetest_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"tidemark/engines"
	"tidemark/engines/catalog"
	"tidemark/internal/vfs"
)

// The kernel itself fails here: strace makes chosen calls on the segment return
// an error without being made. It counts calls by thread, so the engine runs on
// one, in a process of its own: this test binary, started again for one test.
const tracedEngine, tracedFile = "ENGINETEST_TRACED_ENGINE", "ENGINETEST_TRACED_FILE"

// injections are what strace is told, by the name of a case of TestTraced.
var injections = map[string][]string{
	// The second sync fails; the third, of which the kernel says that all is
	// well, proves nothing.
	"Sync": {"fdatasync:error=EIO:when=2"},
	// What an engine puts the second append on the disk with fails, once and
	// where it asks for less, twice.
	"Write": {"pwrite64,pwritev,fallocate:error=EIO:when=2..3"},
	// The tail of a failed append does not go at the first attempt either.
	"WriteAndTruncate": {"pwrite64,pwritev,fallocate:error=EIO:when=2..3", "ftruncate:error=EIO:when=1"},
}

func TestInjectedByTheKernel(t *testing.T) {
	if raceEnabled {
		t.Skip("what the kernel refuses is the same, and every call of the detector would be traced")
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	for name, inject := range injections {
		for _, spec := range catalog.Builtin().Appends() {
			t.Run(name+"/"+spec.Name, func(t *testing.T) {
				if err := spec.Available(t.TempDir()); err != nil {
					t.Skipf("not available here: %v", err)
				}
				runTraced(t, strace, name, spec.Name, inject)
			})
		}
	}
}

// runTraced runs one case of TestTraced under strace.
func runTraced(t *testing.T, strace, name, engine string, inject []string) {
	dir := t.TempDir()
	file, trace := filepath.Join(dir, "segment"), filepath.Join(dir, "trace")
	args := []string{"-f", "-qq", "-s", "0", "-o", trace, "-P", file, "-e", "trace=pwrite64,pwritev,fallocate,ftruncate,fdatasync"}
	for _, rule := range inject {
		args = append(args, "-e", "inject="+rule)
	}
	args = append(args, os.Args[0], "-test.run", "^TestTraced$/^"+name+"$", "-test.v")
	cmd := exec.Command(strace, args...)
	cmd.Env = append(os.Environ(), tracedEngine+"="+engine, tracedFile+"="+file)
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "ptrace(") {
		t.Skipf("strace may not trace: %s", out)
	}
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestTraced/"+name)) {
		t.Errorf("%v\n%s", err, out)
	}
	calls, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range inject {
		set, _, _ := strings.Cut(rule, ":")
		met := regexp.MustCompile(`(?m)\b(?:` + strings.ReplaceAll(set, ",", "|") + `)\b.*\(INJECTED\)$`)
		if !met.Match(calls) {
			t.Errorf("no fault of %s was met:\n%s", rule, calls)
		}
	}
}

// TestTraced is what runs under strace.
func TestTraced(t *testing.T) {
	if os.Getenv(tracedFile) == "" {
		t.Skip("run by TestInjectedByTheKernel, under strace")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	spec, err := catalog.Builtin().Append(os.Getenv(tracedEngine))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]func(t *testing.T, a engines.Appender, f vfs.File){
		"Sync": tracedSync, "Write": tracedWrite, "WriteAndTruncate": tracedWrite,
	} {
		t.Run(name, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			f, err := vfs.OS{}.Create(os.Getenv(tracedFile))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close() // The test's own file.
			a, err := spec.Open(f, 0, engines.AppendOptions{SegmentBytes: 64 << 20})
			if err != nil {
				t.Fatal(err)
			}
			test(t, a, f)
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func tracedSync(t *testing.T, a engines.Appender, _ vfs.File) {
	appendSevens(t, a, 5000)
	if err := a.Flush(); err != nil {
		t.Fatal(err)
	}
	appendSevens(t, a, 5000)
	for range 3 {
		if err := a.Flush(); !errors.Is(err, syscall.EIO) {
			t.Errorf("Flush: got %v, want EIO, for ever", err)
		}
	}
	if _, err := a.Append([][]byte{{7}}); !errors.Is(err, syscall.EIO) {
		t.Errorf("Append after a failed sync: got %v, want EIO", err)
	}
}

func tracedWrite(t *testing.T, a engines.Appender, f vfs.File) {
	appendSevens(t, a, 5000)
	// More than any engine has reserved.
	if _, err := a.Append([][]byte{bytes.Repeat([]byte{7}, 40<<20)}); !errors.Is(err, syscall.EIO) || a.Size() != 5000 {
		t.Fatalf("Append: got %v and size %d, want EIO and 5000", err, a.Size())
	}
	// Each kind of call fails twice, and has its own count.
	for range 3 {
		_, err := a.Append([][]byte{bytes.Repeat([]byte{7}, 100)})
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EIO) || a.Size() != 5000 {
			t.Fatalf("Append: got %v and size %d, want EIO and 5000", err, a.Size())
		}
	}
	size := int(a.Size())
	if size != 5100 {
		t.Fatalf("size is %d after the device recovered, want 5100", size)
	}
	got, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(bytes.Trim(got, "\x00")); n != size || len(bytes.Trim(got[:size], "\x07")) > 0 {
		t.Errorf("%d bytes in the file, want %d sevens and zeros behind them", n, size)
	}
}

func appendSevens(t *testing.T, a engines.Appender, n int) {
	t.Helper()
	if _, err := a.Append([][]byte{bytes.Repeat([]byte{7}, n)}); err != nil {
		t.Fatal(fmt.Errorf("before any fault: %w", err))
	}
}
