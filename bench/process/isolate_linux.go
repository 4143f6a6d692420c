package process

import (
	"os/exec"
	"syscall"
)

func isolate(c *exec.Cmd, outlive bool) {
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: outlive, Setpgid: !outlive}
	if !outlive {
		c.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
}
