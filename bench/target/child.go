package target

import (
	"fmt"
	"io"
	"os"

	"tidemark/bench/process"
)

// child is a started process and what it prints.
type child struct {
	*process.Process
	stdout io.ReadCloser
}

// startChild starts a program whose standard error goes to a file. It dies with this
// program.
func startChild(executable string, args []string, logFile string) (*child, error) {
	log, err := os.Create(logFile)
	if err != nil {
		return nil, fmt.Errorf("log of the target: %w", err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		_ = log.Close() // nothing was written
		return nil, fmt.Errorf("pipe to the target: %w", err)
	}
	p, err := process.Start(process.Options{Program: executable, Args: args, Stdout: write, Stderr: log})
	if err != nil {
		_ = read.Close() // nothing comes
		return nil, err
	}
	return &child{Process: p, stdout: read}, nil
}
