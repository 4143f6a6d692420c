package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	gopsnet "github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/process"

	"tidemark/broker/config"
	"tidemark/internal/loopback"
	"tidemark/internal/vfs"
)

// listen opens a TCP listener, whose connections within this machine have that
// congestion control. When the port is taken the error says by whom and how to take
// another; setting is the configuration up to the address.
func listen(address, setting, congestion string) (net.Listener, error) {
	of := net.ListenConfig{Control: loopback.Control(congestion)}
	l, err := of.Listen(context.Background(), "tcp", address)
	if err == nil || !errors.Is(err, syscall.EADDRINUSE) {
		return l, err
	}
	host, port, splitErr := net.SplitHostPort(address)
	if splitErr != nil {
		return nil, err
	}
	owner := "another process"
	if pid := portOwner(port); pid != 0 {
		owner = describeProcess(pid)
	}
	return nil, fmt.Errorf("%s is in use by %s: stop it, or listen elsewhere (--set %s%s; port 0 takes a free one): %w",
		address, owner, setting, net.JoinHostPort(host, "0"), syscall.EADDRINUSE)
}

// portOwner finds the process that listens on a TCP port; 0 when it cannot be
// seen, as another user's cannot.
func portOwner(port string) int32 {
	conns, err := gopsnet.Connections("tcp")
	if err != nil {
		return 0
	}
	for _, c := range conns {
		if c.Status == "LISTEN" && fmt.Sprint(c.Laddr.Port) == port {
			return c.Pid
		}
	}
	return 0
}

func describeProcess(pid int32) string {
	if int(pid) == os.Getpid() {
		return fmt.Sprintf("this process (pid %d)", pid)
	}
	p, err := process.NewProcess(pid)
	if err != nil {
		return fmt.Sprintf("pid %d", pid)
	}
	name, err := p.Name()
	if err != nil {
		return fmt.Sprintf("pid %d", pid)
	}
	return fmt.Sprintf("pid %d (%s)", pid, name)
}

// explainLock adds to a lock that somebody else holds what to do about it.
func explainLock(err error) error {
	var locked *vfs.LockedError
	switch {
	case !errors.As(err, &locked):
		return err
	case locked.Owner == vfs.LockOwner():
		return fmt.Errorf("%w, which is this process: name each directory once, or use another (--set log.dirs=DIR)", err)
	default:
		return fmt.Errorf("%w: stop that process, or use another directory (--set log.dirs=DIR)", err)
	}
}

// advertise is the address that clients are told: the configured host, unless it
// stands for every address, with the port that was really taken.
func advertise(l config.Listener, addr net.Addr) config.Listener {
	if tcp, ok := addr.(*net.TCPAddr); ok {
		l.Port = int32(tcp.Port)
	}
	if ip := net.ParseIP(l.Host); l.Host == "" || ip != nil && ip.IsUnspecified() {
		l.Host = "127.0.0.1"
		if name, err := os.Hostname(); err == nil {
			l.Host = name
		}
	}
	return l
}
