package calibrate

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"tidemark/bench/schedule"
)

const (
	// openRate is the load of suite quick's latency experiment, in pings a second.
	openRate = 10_000
	// openTimes is how much longer its samples are than others, so that one is as
	// long as a run's window: whatever stops the machine for milliseconds now and
	// then has to have the same chance to be in it.
	openTimes = 30
	// openPatience bounds the wait for answers, in nanoseconds.
	openPatience = 1_000_000_000
)

// openPing measures round trips at a fixed rate, as the raw driver measures a paced
// producer: a ping leaves when it is due, answered or not the one before, its time
// counts from when it was due, and one thread sends and takes the answers.
func openPing(_ string, each time.Duration) (sampler, error) {
	o, finish, err := newOpenPinger(echo)
	if err != nil {
		return sampler{}, err
	}
	return sampler{
		sample: func() (median, p99 float64, err error) { return o.run(openTimes * each) },
		close:  finish,
	}, nil
}

// openPinger is the near end.
type openPinger struct {
	fd       int
	pacer    *schedule.Pacer
	begin    int64 // when the first ping is due
	received int   // bytes of answers
	times    []float64
	in       [4096]byte
}

func newOpenPinger(far func(*os.File) error) (o *openPinger, finish func() error, err error) {
	p, err := connect(far)
	if err != nil {
		return nil, nil, err
	}
	fd, err := schedule.Detach(p.near)
	if err != nil {
		return nil, nil, err // both ends are closed
	}
	return &openPinger{fd: fd}, func() error { return errors.Join(unix.Close(fd), <-p.done) }, nil
}

func (o *openPinger) run(length time.Duration) (median, p99 float64, err error) {
	o.pacer = schedule.NewPacer()
	defer o.pacer.Close()
	pings := max(1, int(length.Seconds()*openRate))
	o.begin, o.received, o.times = schedule.Now(), 0, make([]float64, 0, pings)
	out := make([]byte, pingBytes)
	for i := range pings {
		for o.pacer.WaitRead(o.due(i), o.fd) < o.due(i) {
			if err := o.take(); err != nil {
				return 0, 0, err
			}
		}
		if _, err := unix.Write(o.fd, out); err != nil { // there is room for thousands
			return 0, 0, fmt.Errorf("send ping %d: %w", i, err)
		}
	}
	for last := schedule.Now(); len(o.times) < pings; {
		o.pacer.SleepRead(openPatience, o.fd)
		had := o.received
		if err := o.take(); err != nil {
			return 0, 0, err
		}
		switch now := schedule.Now(); {
		case o.received > had:
			last = now
		case now-last > openPatience:
			return 0, 0, fmt.Errorf("%d of %d pings answered, and no more within a second", len(o.times), pings)
		}
	}
	median, p99 = percentiles(o.times)
	return median, p99, nil
}

// due is when ping i is to leave.
func (o *openPinger) due(i int) int64 { return o.begin + int64(i)*int64(time.Second/openRate) }

// take notes the answers that are there; they come in the order of the pings.
func (o *openPinger) take() error {
	n, err := unix.Read(o.fd, o.in[:])
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return nil
	case err != nil:
		return fmt.Errorf("read answers to pings: %w", err)
	case n == 0:
		return io.ErrUnexpectedEOF
	}
	now := schedule.Now()
	for o.received += n; len(o.times) < o.received/pingBytes; {
		o.times = append(o.times, float64(now-o.due(len(o.times))))
	}
	return nil
}
