package api

import (
	"net"
	"strconv"
	"strings"

	"tidemark/coordinator/znode"
)

// Address is where clients and other brokers reach a broker: its plaintext listener,
// or the first of its endpoints.
func Address(b znode.Broker) (host string, port int32) {
	if b.Host != "" && b.Port >= 0 || len(b.Endpoints) == 0 {
		return b.Host, b.Port
	}
	_, hostPort, _ := strings.Cut(b.Endpoints[0], "://")
	host, text, err := net.SplitHostPort(hostPort)
	if err != nil {
		return b.Host, b.Port
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return b.Host, b.Port
	}
	return host, int32(n)
}
