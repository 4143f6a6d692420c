package cluster

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
)

// publicPorts are the ports that clients know.
func publicPorts(o Options) ([]int, error) {
	if o.Port == 0 {
		return freePorts(o.Brokers)
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

// given are the ports that were found for this process's clusters. Who is to listen on
// one may not do so yet, so that it looks free still.
var given = struct {
	sync.Mutex
	ports map[int]bool
}{ports: map[int]bool{}}

// freePorts finds ports that nobody listens on now, and that were not found before.
func freePorts(n int) ([]int, error) {
	below := outgoing
	if b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		var first int
		if _, err := fmt.Sscan(string(b), &first); err == nil && first > lowestPort+1000 {
			below = first
		}
	}
	given.Lock()
	defer given.Unlock()
	if len(given.ports) > (below-lowestPort)/2 {
		clear(given.ports) // the first of them were given long ago
	}
	var ports []int
	for range tries {
		if len(ports) == n {
			return ports, nil
		}
		port := lowestPort + rand.IntN(below-lowestPort)
		if given.ports[port] {
			continue
		}
		l, err := net.Listen("tcp", loopback(port))
		if err != nil {
			continue // taken
		}
		_ = l.Close() // nobody has connected
		given.ports[port] = true
		ports = append(ports, port)
	}
	return nil, fmt.Errorf("%d free ports between %d and %d were not to be found", n, lowestPort, below)
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
