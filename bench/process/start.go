// Package process starts programs in the background and knows its own again: a
// process is told from a later one with the same number by when it started, so that
// a signal never reaches a stranger.
package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
)

// Options is what to start.
type Options struct {
	Program string
	Args    []string
	// Env is added to this process's environment.
	Env []string
	// Stdout and Stderr are closed by Start, whatever comes of it; nil is
	// /dev/null.
	Stdout, Stderr *os.File
	// Outlive lets the process live on when this one ends; else it dies with it.
	Outlive bool
}

// Process is a process that this one has started. It is safe for concurrent use.
type Process struct {
	Pid int
	// handle belongs to the process, whoever has its number now.
	handle *os.Process
	done   chan struct{}
}

// Done is closed once the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Kill ends the process at once and waits for it. One that has ended is no error.
func (p *Process) Kill() error {
	if err := p.handle.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill process %d: %w", p.Pid, err)
	}
	<-p.done
	return nil
}

// Start starts a program in a process group of its own, so that a Ctrl-C meant for
// this one does not reach it.
func Start(o Options) (*Process, error) {
	cmd := exec.Command(o.Program, o.Args...)
	cmd.Env = append(os.Environ(), o.Env...)
	isolate(cmd, o.Outlive)
	if o.Stdout != nil {
		cmd.Stdout = o.Stdout
	}
	if o.Stderr != nil {
		cmd.Stderr = o.Stderr
	}
	p := &Process{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel ties "dies with its parent" to the starting thread, so this
		// goroutine keeps its thread until the child has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		for _, f := range []*os.File{o.Stdout, o.Stderr} {
			if f != nil {
				_ = f.Close() // the child has its own
			}
		}
		if err == nil {
			p.Pid, p.handle = cmd.Process.Pid, cmd.Process
		}
		started <- err
		if err == nil {
			_ = cmd.Wait() // its exit code says nothing that its log does not
		}
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Program, err)
	}
	return p, nil
}
