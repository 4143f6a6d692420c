package enginetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"tidemark/engines"
)

func checkFlushFinal(b appendBench) error {
	return b.with(smallSegment, func(s *segment) error {
		if err := s.append(pattern(30).bytes(0, 5000)); err != nil {
			return err
		}
		if err := s.appender.Flush(); err != nil {
			return fmt.Errorf("flush: %w", err)
		}
		if err := s.append(pattern(31).bytes(0, 5000)); err != nil {
			return err
		}
		repair, err := s.breakDevice()
		if err != nil {
			return err
		}
		flushErr := s.appender.Flush()
		if err := repair(); err != nil {
			return err
		}
		if flushErr == nil {
			return fmt.Errorf("flush succeeded on a device that cannot sync")
		}
		if err := s.appender.Flush(); err == nil {
			return fmt.Errorf("flush succeeded after it had failed with: %w", flushErr)
		}
		if _, err := s.appender.Append([][]byte{{1}}); err == nil {
			return fmt.Errorf("append succeeded after Flush had failed with: %w", flushErr)
		}
		return nil
	})
}

func checkErrorLeavesEnd(b appendBench) error {
	return b.with(smallSegment, func(s *segment) error {
		if err := s.append(pattern(32).bytes(0, 5000)); err != nil {
			return err
		}
		repair, err := s.breakDevice()
		if err != nil {
			return err
		}
		// More than a segment and any allocation ahead: the engine must go to
		// the device.
		_, appendErr := s.appender.Append([][]byte{pattern(33).bytes(0, 100), pattern(34).bytes(0, 40<<20)})
		size := s.appender.Size()
		if err := repair(); err != nil {
			return err
		}
		if appendErr == nil {
			return fmt.Errorf("%w: Append did not meet the broken descriptor", errUnproved)
		}
		if size != 5000 {
			return fmt.Errorf("size after a failed Append is %d, want 5000 as before it", size)
		}
		// One byte, so that whatever the failed append left would show behind it.
		if err := s.append([]byte{7}); err != nil {
			return fmt.Errorf("after the device recovered: %w", err)
		}
		return s.check()
	})
}

// CheckFull runs the clause of a full disk. dir is on a file system with less
// than 1 GiB left, all of which it uses for a moment, and at least 4 MiB.
func CheckFull(spec engines.AppendSpec, dir string) error {
	full := clause[appendBench]{Clause{"full-disk", "a disk that fills up refuses appends; it neither kills the broker nor tears a segment, and appends go on when there is room"}, checkFull}
	return failures(run("append engine "+spec.Name, dir, []clause[appendBench]{full}, func(dir string) appendBench {
		return appendBench{spec: spec, dir: dir}
	}))
}

func checkFull(b appendBench) error {
	ballast := filepath.Join(b.dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o644); err != nil {
		return err
	}
	return b.with(1<<30, func(s *segment) error {
		buf := make([]byte, 100_000)
		var err error
		for err == nil {
			pattern(35).fill(buf, int64(len(s.want)))
			err = s.append(buf)
			if len(s.want) > 1<<30 {
				return fmt.Errorf("a gibibyte fits: not a small file system")
			}
		}
		if !errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("the full disk gave %w, want ENOSPC", err)
		}
		if got := s.appender.Size(); got != int64(len(s.want)) {
			return fmt.Errorf("size after a failed Append is %d, want %d", got, len(s.want))
		}
		if err := s.check(); err != nil {
			return err
		}
		if err := os.Remove(ballast); err != nil {
			return err
		}
		if err := s.append(buf); err != nil {
			return fmt.Errorf("after room was made: %w", err)
		}
		return s.check()
	})
}
