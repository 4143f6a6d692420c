package network

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// read reads once into window; in.n is how much.
func (in *input) read(window []byte) error {
	in.window, in.n, in.err = window, 0, nil
	if in.c.raw == nil {
		in.c.flush()
		in.await()
		in.n, in.err = in.c.nc.Read(window)
	} else if err := in.readRaw(); err != nil {
		in.err = err
	}
	in.window = nil
	if in.n > 0 {
		in.c.idleDue.Store(0)
		return nil
	}
	if errors.Is(in.err, os.ErrDeadlineExceeded) {
		return errHalted
	}
	return in.err
}

// readRaw reads what is there; only if there is nothing does it send the
// answers that are left to the reader, and wait.
func (in *input) readRaw() error {
	for {
		in.blocked = false
		if err := in.c.raw.Read(in.try); err != nil {
			return err
		}
		if !in.blocked {
			return in.err
		}
		in.c.flush()
	}
}

// attempt is called by the runtime's poller until it returns true. The
// connection must not be closed from within.
func (in *input) attempt(fd uintptr) bool {
	if in.window == nil {
		return true // readable: next takes a buffer and comes again
	}
	for {
		n, err := syscall.Read(int(fd), in.window)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			if in.c.unsent > 0 {
				in.blocked = true
				return true
			}
			in.await()
			return false
		case err != nil:
			in.err = os.NewSyscallError("read", err)
		case n == 0:
			in.err = io.EOF
		default:
			in.n = n
		}
		return true
	}
}

// await prepares for a wait: patience is set, and an idle connection gives its
// buffer back.
func (in *input) await() {
	c := in.c
	if in.w > in.r {
		if c.frameDue.Load() == 0 {
			c.frameDue.Store(c.due(c.server.o.FrameTimeout + transferTime(int64(len(in.window)))))
		}
		return
	}
	if c.server.o.IdleTimeout > 0 {
		c.idleDue.Store(c.due(c.server.o.IdleTimeout))
	}
	if c.raw != nil && in.buf != nil {
		in.window = nil
		in.drop()
	}
}

// drop gives the buffer back.
func (in *input) drop() {
	if in.buf != nil {
		in.buf.release()
		in.buf, in.r, in.w = nil, 0, 0
	}
}
