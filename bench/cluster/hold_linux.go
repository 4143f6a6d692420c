package cluster

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// hold binds a port of 127.0.0.1 without listening on it, unless anybody has it. The kernel
// then keeps the port from every bind that leaves the choice to it, from outgoing
// connections and from other holds. Who binds that very port, and allows it to be used again
// as listeners in Go and Java do, can listen there; that is what SO_REUSEADDR means in
// socket(7) as long as no socket of the port listens.
func hold(port int) (io.Closer, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("hold port %d: %w", port, err)
	}
	f := os.NewFile(uintptr(fd), "port")
	if err = syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err == nil {
		err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1) // only now: with it the bind would pass beside another hold
	}
	if err != nil {
		_ = f.Close() // it holds nothing
		return nil, fmt.Errorf("hold port %d: %w", port, err)
	}
	return f, nil
}
