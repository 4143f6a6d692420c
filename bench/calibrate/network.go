package calibrate

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"tidemark/bench/result"
	"tidemark/bench/schedule"
)

var networkLimits = []limit{
	{result.LimitLoopback16K, "TCP over loopback, 16 KiB a write, reader reads", result.UnitBytesPerS, loopback(16 << 10)},
	{result.LimitLoopback64K, "TCP over loopback, 64 KiB a write, reader reads", result.UnitBytesPerS, loopback(64 << 10)},
	{result.LimitLoopback1M, "TCP over loopback, 1 MiB a write, reader reads", result.UnitBytesPerS, loopback(1 << 20)},
	{result.LimitSendfileRead, "sendfile(2) from page cache to loopback, reader reads", result.UnitBytesPerS, sendfile(false)},
	{result.LimitSendfileDiscard, "sendfile(2) from page cache to loopback, reader discards", result.UnitBytesPerS, sendfile(true)},
	{result.LimitPingTight, "100-byte round trip over loopback, one after the other", result.UnitNs, pingPong(0)},
	{result.LimitPingPaced, "100-byte round trip over loopback, one a millisecond", result.UnitNs, pingPong(time.Millisecond)},
}

// pair is two ends of a loopback connection and a goroutine at the far end.
type pair struct {
	near *net.TCPConn
	done chan error
}

// connect starts far at the other end of a new connection.
func connect(far func(*net.TCPConn) error) (*pair, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }() // one connection is all
	p := &pair{done: make(chan error, 1)}
	go func() {
		conn, err := l.Accept()
		if err != nil {
			p.done <- err
			return
		}
		err = far(conn.(*net.TCPConn))
		p.done <- errors.Join(err, conn.Close())
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return nil, err
	}
	p.near = conn.(*net.TCPConn)
	return p, nil
}

// close ends the connection and waits for the far end.
func (p *pair) close() error { return errors.Join(p.near.Close(), <-p.done) }

// readAll reads into one buffer until the connection ends.
func readAll(size int) func(*net.TCPConn) error {
	return func(c *net.TCPConn) error {
		buf := make([]byte, size)
		for {
			if _, err := c.Read(buf); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
}

func loopback(size int) func(string, time.Duration) (sampler, error) {
	return func(_ string, each time.Duration) (sampler, error) {
		p, err := connect(readAll(size))
		if err != nil {
			return sampler{}, err
		}
		buf := make([]byte, size)
		return throughput(each, func() (int, error) { return p.near.Write(buf) }, p.close), nil
	}
}

func sendfile(discards bool) func(string, time.Duration) (sampler, error) {
	return func(dir string, each time.Duration) (sampler, error) {
		const size = 64 << 20
		f, err := os.Create(filepath.Join(dir, "cached"))
		if err != nil {
			return sampler{}, err
		}
		if _, err := f.Write(make([]byte, size)); err != nil {
			return sampler{}, errors.Join(err, f.Close())
		}
		far := readAll(1 << 20)
		if discards {
			far = discard
		}
		p, err := connect(far)
		if err != nil {
			return sampler{}, errors.Join(err, f.Close())
		}
		return throughput(each, func() (int, error) { return 1 << 20, sendAll(p.near, f, 1<<20) },
			func() error { return errors.Join(p.close(), f.Close()) }), nil
	}
}

// pingPong measures round trips; with a gap they are paced as a light load is.
func pingPong(gap time.Duration) func(string, time.Duration) (sampler, error) {
	return func(_ string, each time.Duration) (sampler, error) {
		p, err := connect(func(c *net.TCPConn) error {
			buf := make([]byte, 100)
			for {
				if _, err := io.ReadFull(c, buf); err == io.EOF {
					return nil
				} else if err != nil {
					return err
				}
				if _, err := c.Write(buf); err != nil {
					return err
				}
			}
		})
		if err != nil {
			return sampler{}, err
		}
		buf := make([]byte, 100)
		return timing(each*time.Duration(1+2*min(1, int(gap))), func() (time.Duration, error) {
			if gap > 0 {
				pacer := schedule.NewPacer()
				pacer.Wait(schedule.Now() + int64(gap))
				pacer.Close()
			}
			began := time.Now()
			if _, err := p.near.Write(buf); err != nil {
				return 0, err
			}
			_, err := io.ReadFull(p.near, buf)
			return time.Since(began), err
		}, p.close), nil
	}
}
