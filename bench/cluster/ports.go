package cluster

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
)

// publicPorts are the ports that clients know.
func publicPorts(o Options) ([]int, error) {
	if o.Port == 0 {
		return FreePorts(o.Brokers)
	}
	var ports []int
	for i := range o.Brokers {
		port := o.Port + i
		l, err := net.Listen("tcp", loopback(port))
		if err != nil {
			return nil, fmt.Errorf("broker %d cannot listen on port %d: %w; choose another first port, or 0 for free ones", i+1, port, err)
		}
		_ = l.Close() // nobody has connected
		ports = append(ports, port)
	}
	return ports, nil
}

// The ports to choose from lie below those that the kernel gives to outgoing
// connections: a killed broker must find its port free when it comes back.
const (
	lowestPort = 10000
	// outgoing is the kernel's first port for outgoing connections by default.
	outgoing = 32768
	tries    = 1000
)

// mostHeld bounds how many ports this process holds; the first are let go for the last.
const mostHeld = 500

// given are the ports that were found for processes that may not listen yet, so that they
// look free still, in the order in which they were found.
var given struct {
	sync.Mutex
	ports []heldPort
}

// heldPort is a port and what keeps it from others; nil where the system cannot.
type heldPort struct {
	number int
	hold   io.Closer
}

// FreePorts finds ports of 127.0.0.1 that nobody has, for processes that are to be started,
// killed and started again. While this process runs, no other call finds the last mostHeld
// of them, in whatever process, nor does the kernel give them to anybody who leaves the
// choice to it.
func FreePorts(n int) ([]int, error) {
	below := outgoing
	if b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		var first int
		if _, err := fmt.Sscan(string(b), &first); err == nil && first > lowestPort+1000 {
			below = first
		}
	}
	given.Lock()
	defer given.Unlock()
	var ports []int
	for range tries {
		if len(ports) == n {
			return ports, nil
		}
		p := heldPort{number: lowestPort + rand.IntN(below-lowestPort)}
		if !p.take() {
			continue
		}
		given.ports = append(given.ports, p)
		ports = append(ports, p.number)
		if len(given.ports) > mostHeld {
			given.ports[0].release()
			given.ports = given.ports[1:]
		}
	}
	return nil, fmt.Errorf("%d free ports between %d and %d were not to be found", n, lowestPort, below)
}

// take holds the port, if nobody else has it. It is called with given locked.
func (p *heldPort) take() bool {
	if slices.ContainsFunc(given.ports, func(g heldPort) bool { return g.number == p.number }) {
		return false
	}
	var err error
	if p.hold, err = hold(p.number); err != nil {
		return false // taken
	}
	if canListen(p.number) {
		return true
	}
	p.release() // on this system the hold itself is in the way
	p.hold = nil
	return canListen(p.number)
}

func (p heldPort) release() {
	if p.hold != nil {
		_ = p.hold.Close() // it has done nothing
	}
}

func canListen(port int) bool {
	l, err := net.Listen("tcp", loopback(port))
	if err != nil {
		return false
	}
	_ = l.Close() // nobody has connected
	return true
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
