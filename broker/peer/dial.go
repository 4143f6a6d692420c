package peer

import (
	"context"
	"net"
	"strconv"
)

// dialTCP connects from a local address; empty leaves it to the system.
func dialTCP(from string) func(context.Context, Broker) (net.Conn, error) {
	var d net.Dialer
	if ip := net.ParseIP(from); ip != nil {
		d.LocalAddr = &net.TCPAddr{IP: ip}
	}
	return func(ctx context.Context, to Broker) (net.Conn, error) {
		conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port))))
		if err != nil {
			return nil, err
		}
		return newPatient(conn), nil
	}
}
