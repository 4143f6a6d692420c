package api

import (
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
		req, err := decodeBody[T, P](c, true)
		if err != nil {
			c.to.Fail(err)
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

func hostOf(remote net.Addr) string {
	if tcp, ok := remote.(*net.TCPAddr); ok {
		return "/" + tcp.IP.String()
	}
	return "/"
}
