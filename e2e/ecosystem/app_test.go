//go:build ecosystem

package ecosystem

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// app is a running Java process. It may be killed from any goroutine.
type app struct {
	cmd  *exec.Cmd
	said *lockedBuffer
	gone chan struct{} // closed once it has ended
	kill sync.Once
}

// opened are the packages that Flink's serializers look into.
var opened = []string{"java.base/java.lang", "java.base/java.util", "java.base/java.time", "java.base/java.lang.reflect", "java.base/java.util.concurrent"}

// startApp runs a class of the Maven module until the test ends.
func startApp(t *testing.T, class string, args ...string) *app {
	t.Helper()
	classpath, err := os.ReadFile(filepath.Join("java", "target", "classpath"))
	if err != nil {
		t.Fatal("the Maven module is not built; run make test-ecosystem")
	}
	line := []string{"-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", filepath.Join("java", "target", "classes") + ":" + strings.TrimSpace(string(classpath))}
	for _, p := range opened {
		line = append(line, "--add-opens="+p+"=ALL-UNNAMED")
	}
	a := &app{said: &lockedBuffer{}, gone: make(chan struct{})}
	a.cmd = exec.Command("java", append(append(line, class), args...)...)
	a.cmd.Stdout, a.cmd.Stderr = a.said, a.said
	if _, err := a.cmd.StdinPipe(); err != nil { // at whose end it ends
		t.Fatal(err)
	}
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = a.cmd.Wait() // a killed process has no good end
		close(a.gone)
	}()
	t.Cleanup(func() {
		a.Kill()
		if t.Failed() {
			said := a.said.String()
			t.Logf("%s said:\n%s", class, said[max(0, len(said)-16<<10):])
		}
	})
	return a
}

// Kill ends it at once and waits until it is gone.
func (a *app) Kill() {
	a.kill.Do(func() { _ = a.cmd.Process.Kill() }) // fails only where it has ended
	<-a.gone
}

// requireRuns fails the test if the process has ended by itself.
func (a *app) requireRuns(t *testing.T) {
	t.Helper()
	select {
	case <-a.gone:
		t.Fatal("the application ended by itself")
	default:
	}
}

// lockedBuffer collects a process's output.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
