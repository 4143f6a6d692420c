package api

import (
	"bytes"
	"fmt"
	"net"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/protocol/wire"
)

// client is who asks, as coordinators know members.
type client struct {
	// ID is what it calls itself; Host its address with a slash before it, as Java
	// prints addresses and Kafka's tools show them.
	ID, Host string
}

// later makes a handler of a function that sees to the answer of a decoded request,
// before it returns or later, from any goroutine. The request is its own: no byte of
// it lies in the frame, which is given back at once.
func later[T any, P interface {
	*T
	kmsg.Request
}](ask func(s *Server, from client, req P, answer func(kmsg.Response))) func(*Server, call) {
	return func(s *Server, c call) {
		if len(c.body) > maxBody {
			c.to.Fail(tooLarge(c))
			return
		}
		var req P = new(T)
		req.SetVersion(c.header.Version)
		if err := req.ReadFrom(bytes.Clone(c.body)); err != nil {
			c.to.Fail(unreadable(c, err))
			return
		}
		from := client{ID: string(c.header.ClientID), Host: hostOf(c.remote)}
		c.header.ClientID = nil
		c.to.ReleaseBody()
		ask(s, from, req, func(resp kmsg.Response) {
			c.to.ReplyWith(func() *wire.Response { return wire.NewResponse(c.header, resp) })
		})
	}
}

func tooLarge(c call) error {
	return fmt.Errorf("%w: body of %d bytes, at most %d are read", wire.ErrMalformed, len(c.body), maxBody)
}

func unreadable(c call, err error) error {
	return fmt.Errorf("%w: key %d version %d: %w", wire.ErrMalformed, c.header.Key, c.header.Version, err)
}

func hostOf(remote net.Addr) string {
	if tcp, ok := remote.(*net.TCPAddr); ok {
		return "/" + tcp.IP.String()
	}
	return "/"
}
