package config

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Listener is one endpoint in Kafka's form NAME://host:port. Only PLAINTEXT
// exists so far. An empty host means every address of the machine.
type Listener struct {
	// Host is an address or a name, without brackets.
	Host string
	// Port is 0 to let the system choose.
	Port int32
}

// Address is host:port as package net wants it.
func (l Listener) Address() string {
	return net.JoinHostPort(l.Host, strconv.Itoa(int(l.Port)))
}

// String is Kafka's form; "" for the zero value.
func (l Listener) String() string {
	if l == (Listener{}) {
		return ""
	}
	return "PLAINTEXT://" + l.Address()
}

// Loopback reports whether only this machine can connect.
func (l Listener) Loopback() bool { return loopbackHost(l.Host) }

// IsLoopback reports whether a host:port can be reached from this machine only.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && loopbackHost(host)
}

func loopbackHost(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// ParseListener reads NAME://host:port, or a bare host:port.
func ParseListener(text string) (Listener, error) {
	address := text
	if name, rest, found := strings.Cut(text, "://"); found {
		if name != "PLAINTEXT" {
			return Listener{}, fmt.Errorf("listener %q: only PLAINTEXT:// is served", text)
		}
		address = rest
	}
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return Listener{}, fmt.Errorf("listener %q: want one PLAINTEXT://host:port", text)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return Listener{}, fmt.Errorf("listener %q: port %q is not 0 to 65535", text, portText)
	}
	return Listener{Host: host, Port: int32(port)}, nil
}
