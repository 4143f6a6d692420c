package calibrate

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"tidemark/bench/result"
	"tidemark/bench/schedule"
	"tidemark/internal/loopback"
)

var networkLimits = []limit{
	{result.LimitLoopback16K, "TCP over loopback, 16 KiB a write, reader reads", result.UnitBytesPerS, streaming(ways, reading, writing(16<<10))},
	{result.LimitLoopback64K, "TCP over loopback, 64 KiB a write, reader reads", result.UnitBytesPerS, streaming(ways, reading, writing(64<<10))},
	{result.LimitLoopback1M, "TCP over loopback, 1 MiB a write, reader reads", result.UnitBytesPerS, streaming(ways, reading, writing(1<<20))},
	{result.LimitStore16K, "TCP over loopback, reader appends 16 KiB at a time to a file", result.UnitBytesPerS, streaming(waysStore, storing(16<<10), writing(16<<10))},
	{result.LimitStore64K, "TCP over loopback, reader appends 64 KiB at a time to a file", result.UnitBytesPerS, streaming(waysStore, storing(64<<10), writing(64<<10))},
	{result.LimitStore1M, "TCP over loopback, reader appends 1 MiB at a time to a file", result.UnitBytesPerS, streaming(waysStore, storing(1<<20), writing(1<<20))},
	{result.LimitSendfileRead, "sendfile(2) from page cache to loopback, reader reads", result.UnitBytesPerS, streaming(ways, reading, sendingFile)},
	{result.LimitSendfileDiscard, "sendfile(2) from page cache to loopback, reader discards", result.UnitBytesPerS, streaming(ways, discarding, sendingFile)},
	{result.LimitCopyDiscard, "pread(2) from page cache and write(2) to loopback, reader discards", result.UnitBytesPerS, streaming(ways, discarding, copyingFile)},
	{result.LimitMappedDiscard, "write(2) of a mapped file to loopback, reader discards", result.UnitBytesPerS, streaming(ways, discarding, sendingMapping)},
	{result.LimitPingTight, "100-byte round trip over loopback, one after the other", result.UnitNs, pingPong(0)},
	{result.LimitPingPaced, "100-byte round trip over loopback, one a millisecond", result.UnitNs, pingPong(time.Millisecond)},
	{result.LimitPingOpen, "100-byte round trip over loopback, 10,000 a second answered or not, from when each is due", result.UnitNs, openPing},
}

// pair is two ends of a loopback connection. The far end has a thread of its own
// that blocks in the kernel, as another process would: two goroutines of one
// process would hand over without ever waking anybody.
type pair struct {
	near *net.TCPConn
	done chan error
}

// unpaced is how broker and driver make their connections, too.
var unpaced = loopback.Control(loopback.Unpaced)

// connect starts far at the other end of a new connection.
func connect(far func(*os.File) error) (*pair, error) {
	of, to := net.ListenConfig{Control: unpaced}, net.Dialer{Control: unpaced}
	l, err := of.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }() // one connection is all
	p := &pair{done: make(chan error, 1)}
	accepted := make(chan error, 1)
	go func() {
		f, err := acceptBlocking(l)
		accepted <- err
		if err != nil {
			return
		}
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err = far(f)
		p.done <- errors.Join(err, f.Close())
	}()
	conn, err := to.Dial("tcp", l.Addr().String())
	if err != nil {
		return nil, err
	}
	if err := <-accepted; err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	p.near = conn.(*net.TCPConn)
	return p, nil
}

// acceptBlocking returns one connection outside the runtime's poller.
func acceptBlocking(l net.Listener) (*os.File, error) {
	conn, err := l.Accept()
	if err != nil {
		return nil, err
	}
	return blocking(conn.(*net.TCPConn))
}

// blocking takes a connection from the runtime's poller.
func blocking(conn *net.TCPConn) (*os.File, error) {
	fd, err := schedule.Detach(conn)
	if err != nil {
		return nil, err
	}
	// A file of a socket that does not block would be with the poller again.
	if err := unix.SetNonblock(fd, false); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "loopback"), nil
}

// close ends the connection and waits for the far end.
func (p *pair) close() error { return errors.Join(p.near.Close(), <-p.done) }

// pingPong measures round trips. With a gap they are paced as a light load is, and
// as the raw driver paces it: one thread sends when it is time and waits in the
// kernel for the answer.
func pingPong(gap time.Duration) func(string, time.Duration) (sampler, error) {
	return func(_ string, each time.Duration) (sampler, error) {
		p, err := connect(echo)
		if err != nil {
			return sampler{}, err
		}
		out, in := make([]byte, pingBytes), make([]byte, pingBytes)
		if gap == 0 {
			return timing(each, func() (time.Duration, error) {
				began := time.Now()
				if _, err := p.near.Write(out); err != nil {
					return 0, err
				}
				_, err := io.ReadFull(p.near, in)
				return time.Since(began), err
			}, p.close), nil
		}
		near, err := blocking(p.near)
		if err != nil {
			return sampler{}, err // both ends are closed
		}
		return timing(3*each, func() (time.Duration, error) {
			pacer := schedule.NewPacer()
			defer pacer.Close()
			pacer.Wait(schedule.Now() + int64(gap))
			began := time.Now()
			if _, err := near.Write(out); err != nil {
				return 0, err
			}
			_, err := io.ReadFull(near, in)
			return time.Since(began), err
		}, func() error { return errors.Join(near.Close(), <-p.done) }), nil
	}
}

// pingBytes is the size of a ping and of its answer.
const pingBytes = 100

// echo answers pings until the connection ends.
func echo(f *os.File) error {
	buf := make([]byte, pingBytes)
	for {
		if _, err := io.ReadFull(f, buf); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if _, err := f.Write(buf); err != nil {
			return err
		}
	}
}
