//go:build !linux

package target

import "os/exec"

func isolate(*exec.Cmd) {}
