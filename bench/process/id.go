package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ID is a process for good: its number, when it started, and of which boot that
// counts from. Mark is a part of its command line that no other program has, as the
// path of its directory.
type ID struct {
	Pid int `json:"pid"`
	// Ticks is the start time as the kernel counts it, since boot.
	Ticks uint64 `json:"start_ticks"`
	Boot  string `json:"boot_id"`
	Mark  string `json:"mark"`
}

// State is what a process does.
type State string

// The states.
const (
	// Running may be working or waiting.
	Running State = "running"
	// Paused is stopped by a signal, until another lets it go on.
	Paused State = "paused"
	// Gone has ended, or was never there.
	Gone State = "gone"
)

// Identify finds out who a process is that has just been started.
func Identify(pid int, mark string) (ID, error) {
	boot, err := bootID()
	if err != nil {
		return ID{}, err
	}
	s, err := readStat(pid)
	if err != nil {
		return ID{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return ID{Pid: pid, Ticks: s.ticks, Boot: boot, Mark: mark}, nil
}

// State tells what the process does now. A stranger with its number counts as Gone.
func (id ID) State() State {
	if id.Pid == 0 {
		return Gone
	}
	boot, err := bootID()
	if err != nil || boot != id.Boot {
		return Gone
	}
	s, err := readStat(id.Pid)
	if err != nil || s.ticks != id.Ticks || s.letter == "X" {
		return Gone
	}
	if s.letter == "Z" {
		// Its first thread has ended. Until all have, its files are open and locked.
		if s.threads > 1 {
			return Running
		}
		return Gone
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", id.Pid))
	// In the midst of exec there is no command line yet.
	if err != nil || len(line) > 0 && !bytes.Contains(line, []byte(id.Mark)) {
		return Gone
	}
	if s.letter == "T" {
		return Paused
	}
	return Running
}

// Signal sends a signal to the process, and to nobody else. One that is gone is no
// error: it says false.
func (id ID) Signal(signal syscall.Signal) (sent bool, err error) {
	p, err := os.FindProcess(id.Pid) // holds on to the process, not to its number
	if err != nil {
		return false, fmt.Errorf("process %d: %w", id.Pid, err)
	}
	defer func() { _ = p.Release() }() // of a handle
	if id.State() == Gone {
		return false, nil
	}
	err = p.Signal(signal)
	if errors.Is(err, os.ErrProcessDone) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s to process %d: %w", signal, id.Pid, err)
	}
	return true, nil
}

func bootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("processes are told apart by /proc, which is not here: %w", err)
	}
	return string(bytes.TrimSpace(b)), nil
}

type stat struct {
	letter  string
	threads int
	ticks   uint64
}

// threadsField and startField are the places of num_threads and starttime in
// /proc/PID/stat, counted from the state, which is the first field behind the name.
const threadsField, startField = 17, 19

func readStat(pid int) (stat, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // a name may hold anything
	if len(fields) <= startField {
		return stat{}, fmt.Errorf("/proc/%d/stat is short", pid)
	}
	ticks, err := strconv.ParseUint(fields[startField], 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("/proc/%d/stat: %w", pid, err)
	}
	threads, err := strconv.Atoi(fields[threadsField])
	if err != nil {
		return stat{}, fmt.Errorf("/proc/%d/stat: %w", pid, err)
	}
	return stat{fields[0], threads, ticks}, nil
}
