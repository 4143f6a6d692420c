package target

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
)

// startChild starts a program whose standard error goes to a file. It runs in a
// process group of its own, so that a Ctrl-C meant for this program does not end
// the run in progress, and dies with this program.
func startChild(executable string, args []string, logFile string) (*child, error) {
	log, err := os.Create(logFile)
	if err != nil {
		return nil, fmt.Errorf("log of the target: %w", err)
	}
	c := &child{cmd: exec.Command(executable, args...), done: make(chan struct{})}
	c.cmd.Stderr = log
	isolate(c.cmd)
	read, write, err := os.Pipe()
	if err != nil {
		_ = log.Close() // nothing was written
		return nil, fmt.Errorf("pipe to the target: %w", err)
	}
	c.cmd.Stdout, c.stdout = write, read
	started := make(chan error)
	go func() {
		// The kernel ties "dies with its parent" to the starting thread, so this
		// goroutine keeps its thread until the child has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		_ = write.Close() // the child has its own
		started <- err
		if err == nil {
			_ = c.cmd.Wait() // its exit code says nothing that its log does not
		}
		_ = log.Close() // the child wrote it
		close(c.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", executable, err)
	}
	return c, nil
}
