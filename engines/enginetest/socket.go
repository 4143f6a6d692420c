package enginetest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// dial returns both ends of a TCP connection over loopback.
func dial() (server, client *net.TCPConn, err error) {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if client, err = net.DialTCP("tcp", nil, l.Addr().(*net.TCPAddr)); err != nil {
		return nil, nil, err
	}
	if server, err = l.AcceptTCP(); err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	return server, client, nil
}

// overSocket runs send on one end of a connection and verifies that exactly the
// n bytes of p from position arrive at the other.
func overSocket(p pattern, position, n int64, send func(conn *net.TCPConn) error) error {
	server, client, err := dial()
	if err != nil {
		return err
	}
	received := make(chan error, 1)
	go func() { received <- receive(client, p, position, n) }()
	err = send(server)
	return errors.Join(err, server.Close(), <-received, client.Close())
}

// receive reads to the end and compares with the pattern.
func receive(r io.Reader, p pattern, position, n int64) error {
	got, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if int64(len(got)) != n {
		return fmt.Errorf("%d bytes arrived, want %d", len(got), n)
	}
	return p.verify(got, position)
}

func checkChunkToSocket(b readBench) error {
	return b.with(1<<21, func(s *source) error {
		for _, r := range ranges {
			err := overSocket(s.pattern, r[0], r[1], func(conn *net.TCPConn) error {
				return s.chunkTo(conn, r[0], r[1])
			})
			if err != nil {
				return fmt.Errorf("chunk(%d, %d): %w", r[0], r[1], err)
			}
		}
		return nil
	})
}

// checkConcurrentChunks has eight clients fetch from one file. Each chunk is
// larger than the socket's buffers and no client reads on before all have got a
// first byte, so that all sends are under way at once; where an engine sends one
// after the other the clients lose patience and read on.
func checkConcurrentChunks(b readBench) error {
	const clients, size, apart = 8, 2 << 20, 300_007
	return b.with(size+clients*apart, func(s *source) error {
		var all, begun sync.WaitGroup
		begun.Add(clients)
		together := make(chan struct{})
		go func() {
			begun.Wait()
			close(together)
		}()
		errs := make([]error, clients)
		for i := range clients {
			all.Go(func() {
				if err := s.fetchInStep(int64(i*apart), size, &begun, together); err != nil {
					errs[i] = fmt.Errorf("chunk(%d, %d) beside others: %w", i*apart, size, err)
				}
			})
		}
		all.Wait()
		return errors.Join(errs...)
	})
}

// fetchInStep sends a chunk over a connection of its own and verifies it. It
// says when it has the first byte, and awaits the others before it takes the rest.
func (s *source) fetchInStep(position, n int64, begun *sync.WaitGroup, together <-chan struct{}) error {
	server, client, err := dial()
	if err != nil {
		begun.Done()
		return err
	}
	sent := make(chan error, 1)
	go func() {
		sent <- errors.Join(smallBuffers(server, client), s.chunkTo(server, position, n), server.Close())
	}()
	got := make([]byte, n)
	_, firstErr := io.ReadFull(client, got[:1])
	begun.Done()
	select {
	case <-together:
	case <-time.After(10 * patience):
	}
	rest, err := io.ReadAll(client)
	copy(got[1:], rest)
	err = errors.Join(firstErr, err, <-sent, client.Close())
	if err == nil && int64(len(rest)) != n-1 {
		err = fmt.Errorf("%d bytes arrived, want %d", 1+len(rest), n)
	}
	if err != nil {
		return err
	}
	return s.verify(got, position)
}

// smallBuffers makes a connection hold little, so that a sender soon waits.
func smallBuffers(server, client *net.TCPConn) error {
	return errors.Join(client.SetReadBuffer(64<<10), server.SetWriteBuffer(64<<10))
}

// checkDeadline sends more than the socket's buffers hold to a peer that does
// not read, meets the deadline, and sends the rest once the peer reads.
func checkDeadline(b readBench) error {
	const size = 16 << 20
	return b.with(size, func(s *source) error {
		server, client, err := dial()
		if err != nil {
			return err
		}
		defer client.Close() // It has been read to its end, or the clause failed.
		defer server.Close() // Closed before in the good case.
		if err := smallBuffers(server, client); err != nil {
			return err
		}
		c, err := s.reader.Chunk(0, size)
		if err != nil {
			return err
		}
		defer c.Release()
		if err := server.SetWriteDeadline(time.Now().Add(patience)); err != nil {
			return err
		}
		n, err := c.WriteTo(server)
		if !errors.Is(err, os.ErrDeadlineExceeded) || n >= size || c.Len() != size-n {
			return fmt.Errorf("WriteTo to a peer that does not read returned %d, %w and left %d of %d; want the deadline's error", n, err, c.Len(), size)
		}
		received := make(chan error, 1)
		go func() { received <- receive(client, s.pattern, 0, size) }()
		if err := server.SetWriteDeadline(time.Time{}); err != nil {
			return err
		}
		if _, err := c.WriteTo(server); err != nil || c.Len() != 0 {
			return fmt.Errorf("WriteTo after the deadline was lifted left %d: %w", c.Len(), err)
		}
		return errors.Join(server.Close(), <-received)
	})
}

func checkClosedPeer(b readBench) error {
	const size = 16 << 20
	return b.with(size, func(s *source) error {
		server, client, err := dial()
		if err != nil {
			return err
		}
		defer server.Close() // What it returns says nothing: the peer is gone.
		if err := errors.Join(client.SetLinger(0), client.Close()); err != nil {
			return err
		}
		c, err := s.reader.Chunk(0, size)
		if err != nil {
			return err
		}
		defer c.Release()
		if n, err := c.WriteTo(server); err == nil || c.Len() != size-n {
			return fmt.Errorf("WriteTo to a closed connection returned %d, %w and left %d of %d; want an error", n, err, c.Len(), size)
		}
		return nil
	})
}
