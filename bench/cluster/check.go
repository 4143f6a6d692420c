package cluster

import (
	"fmt"
	"net"
	"slices"
	"strings"
)

// Check says what is wrong with options whatever the machine and the directory are like.
func (o *Options) Check() error {
	if o.Brokers < 1 || o.Brokers > MaxBrokers {
		return fmt.Errorf("cluster of %d brokers: want 1 to %d", o.Brokers, MaxBrokers)
	}
	if highest := 65536 - o.Brokers; o.Port < 0 || o.Port > highest {
		return fmt.Errorf("port %d of the first broker: want 1 to %d, or 0 for free ones", o.Port, highest)
	}
	own := o.ownSettings()
	for _, setting := range o.Set {
		if name, _, _ := strings.Cut(setting, "="); slices.Contains(own, name) {
			return fmt.Errorf("setting %s: the cluster gives each broker its own", name)
		}
	}
	return checkStore(o.Zookeeper)
}

// ownSettings are the names of what brokerArgs sets.
func (o *Options) ownSettings() []string {
	names := []string{"broker.id", "zookeeper.connect", "listeners", "log.dirs"}
	if o.Proxy {
		names = append(names, "advertised.listeners", "socket.bind.address")
	}
	if o.Trace {
		names = append(names, "trace.dir")
	}
	return names
}

// checkStore checks how a metadata store is named.
func checkStore(zookeeper string) error {
	if zookeeper == "" || zookeeper == Embedded || zookeeper == Real {
		return nil
	}
	servers, _, _ := strings.Cut(zookeeper, "/")
	for server := range strings.SplitSeq(servers, ",") {
		if _, _, err := net.SplitHostPort(server); err != nil {
			return fmt.Errorf("metadata store %q: want %s, %s or host:port,host:port with a /path if you like", zookeeper, Embedded, Real)
		}
	}
	return nil
}
