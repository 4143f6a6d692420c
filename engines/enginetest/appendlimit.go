package enginetest

import (
	"errors"
	"fmt"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"tidemark/engines"
)

// CheckShortWrites runs the clause of writes that the kernel cuts short. It
// lowers, for a moment, the size to which this process may extend files: nothing
// else in the process may write one meanwhile.
func CheckShortWrites(spec engines.AppendSpec, dir string) error {
	return failures(runShortWrites(spec, dir))
}

func runShortWrites(spec engines.AppendSpec, dir string) []Result {
	short := clause[appendBench]{Clause{"short-write", "a kernel may take a part of a write and refuse the rest; the part must not pass for the whole, nor stay behind"}, checkShortWrites}
	return run("append engine "+spec.Name, dir, []clause[appendBench]{short}, func(dir string) appendBench {
		return appendBench{spec: spec, dir: dir}
	})
}

func checkShortWrites(b appendBench) error {
	return b.with(64<<20, func(s *segment) error {
		if err := s.append(pattern(70).bytes(0, 5000)); err != nil {
			return err
		}
		// The first is within what an engine may have reserved, the limit at a
		// bound of pages: what may be written is whole. The second is not.
		for _, attempt := range []struct {
			limit, size int64
			within      bool
		}{{64 << 10, 300_000, true}, {400_001, 40 << 20, false}} {
			refused, err := s.appendLimited(attempt.limit, attempt.size)
			if err != nil {
				return err
			}
			if !refused && !attempt.within {
				return fmt.Errorf("%w: %d bytes went into a file limited to %d", errUnproved, attempt.size, attempt.limit)
			}
			// A byte, so that whatever was left behind the end would show.
			if err := s.append([]byte{7}); err != nil {
				return fmt.Errorf("after the limit was lifted: %w", err)
			}
			if err := s.check(); err != nil {
				return err
			}
		}
		return nil
	})
}

// appendLimited appends size bytes to a file that may not grow beyond limit, in
// two buffers, the first of which fits.
func (s *segment) appendLimited(limit, size int64) (refused bool, err error) {
	end := int64(len(s.want))
	one, two := pattern(71).bytes(end, 100), pattern(71).bytes(end+100, size-100)
	lift, err := limitFiles(limit)
	if err != nil {
		return false, err
	}
	position, appendErr := s.appender.Append([][]byte{one, two})
	if err := lift(); err != nil {
		return false, err
	}
	if appendErr == nil {
		s.want = append(append(s.want, one...), two...)
	} else if !errors.Is(appendErr, unix.EFBIG) {
		return true, fmt.Errorf("a file at its limit gave %w, want EFBIG", appendErr)
	}
	if got := s.appender.Size(); got != int64(len(s.want)) || appendErr == nil && position != end {
		return true, fmt.Errorf("append of %d bytes at %d returned %d, %v and left the size %d", size, end, position, appendErr, got)
	}
	return appendErr != nil, nil
}

// limitFiles lowers the greatest size of files this process may write.
func limitFiles(size int64) (lift func() error, err error) {
	var former unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &former); err != nil {
		return nil, err
	}
	signal.Ignore(syscall.SIGXFSZ) // An error is wanted, not the end.
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(size), Max: former.Max}); err != nil {
		return nil, err
	}
	return func() error {
		err := unix.Setrlimit(unix.RLIMIT_FSIZE, &former)
		signal.Reset(syscall.SIGXFSZ)
		return err
	}, nil
}
