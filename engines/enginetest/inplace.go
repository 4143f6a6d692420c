package enginetest

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"tidemark/engines"
	"tidemark/internal/vfs"
)

var inPlaceClauses = []clause[appendBench]{
	{Clause{"lent-zeros", "a batch received in part must not be completed by what lay there before"}, checkLentZeros},
	{Clause{"lent-hidden", "a batch counts once it has been validated, not while it arrives; a flush may come meanwhile"}, checkLentHidden},
	{Clause{"published", "a consumer may fetch a batch as soon as it is published, where the log's index says"}, checkPublished},
	{Clause{"abandoned", "what was received and refused would be taken for a batch at the next recovery"}, checkAbandoned},
	{Clause{"loans-beside-appends", "some batches are received in place and some are not, through every step of allocation"}, checkLoansBesideAppends},
	{Clause{"lent-page-lost", "a file that lost its end under a loan is an error, and the log goes on"}, checkLentPageLost},
	{Clause{"no-loan-after-failed-flush", "after a failed sync nothing is acknowledged, by whatever way it came"}, checkNoLoanAfterFailedFlush},
}

// CheckInPlace runs the clauses of engines.InPlaceAppender on an engine whose
// appenders are such.
func CheckInPlace(spec engines.AppendSpec, dir string) error {
	return failures(RunInPlace(spec, dir))
}

// RunInPlace is CheckInPlace with one result per clause.
func RunInPlace(spec engines.AppendSpec, dir string) []Result {
	return run("append engine "+spec.Name, dir, inPlaceClauses, func(dir string) appendBench {
		return appendBench{spec: spec, dir: dir}
	})
}

// withLoans runs do on a new segment in which a first append has been made: an
// engine need not lend before.
func (b appendBench) withLoans(do func(s *segment, a engines.InPlaceAppender) error) error {
	return b.with(64<<20, func(s *segment) error {
		a, ok := s.appender.(engines.InPlaceAppender)
		if !ok {
			return fmt.Errorf("%T lends no memory", s.appender)
		}
		return errors.Join(s.append(pattern(80).bytes(0, 1001)), do(s, a))
	})
}

// mustLend wants a loan.
func (s *segment) mustLend(a engines.InPlaceAppender, n int64) ([]byte, error) {
	memory, err := a.Reserve(n)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reserve(%d) at %d: %w", n, len(s.want), err)
	case memory == nil:
		return nil, fmt.Errorf("%w: no %d bytes are lent at %d", errUnproved, n, len(s.want))
	case int64(len(memory)) != n:
		return nil, fmt.Errorf("reserve(%d) lent %d bytes", n, len(memory))
	}
	return memory, nil
}

// publish ends a loan that was filled with data and notes it as wanted.
func (s *segment) publish(a engines.InPlaceAppender, data []byte) error {
	end := int64(len(s.want))
	position, err := a.Publish()
	if err != nil {
		return fmt.Errorf("publish at %d: %w", end, err)
	}
	s.want = append(s.want, data...)
	if got := a.Size(); position != end || got != int64(len(s.want)) {
		return fmt.Errorf("publish of %d bytes at %d returned %d and left the size %d", len(data), end, position, got)
	}
	return nil
}

func checkLentZeros(b appendBench) error {
	return b.withLoans(func(s *segment, a engines.InPlaceAppender) error {
		for i, n := range []int64{5000, 61, 9000, 4096} {
			memory, err := s.mustLend(a, n)
			if err != nil {
				return err
			}
			if at := firstNonZero(memory); at >= 0 {
				return fmt.Errorf("byte %d of %d lent is %#02x, want zeros", at, n, memory[at])
			}
			data := pattern(81+i).bytes(0, n)
			copy(memory, data)
			if i%2 == 0 {
				a.Abandon()
			} else if err := s.publish(a, data); err != nil {
				return err
			}
		}
		return s.check()
	})
}

func checkLentHidden(b appendBench) error {
	return b.withLoans(func(s *segment, a engines.InPlaceAppender) error {
		memory, err := s.mustLend(a, 10_000)
		if err != nil {
			return err
		}
		data := pattern(82).bytes(0, 10_000)
		copy(memory, data[:6000])
		if got := a.Size(); got != int64(len(s.want)) {
			return fmt.Errorf("size is %d during a loan, want %d", got, len(s.want))
		}
		if err := a.Flush(); err != nil {
			return fmt.Errorf("flush during a loan: %w", err)
		}
		copy(memory[6000:], data[6000:])
		return errors.Join(s.publish(a, data), s.check())
	})
}

func checkPublished(b appendBench) error {
	return b.withLoans(func(s *segment, a engines.InPlaceAppender) error {
		for i := range 20 {
			data := pattern(83).bytes(int64(len(s.want)), 777*int64(i+1))
			memory, err := s.mustLend(a, int64(len(data)))
			if err != nil {
				return err
			}
			copy(memory, data)
			if err := errors.Join(s.publish(a, data), s.check()); err != nil {
				return err
			}
		}
		return nil
	})
}

func checkAbandoned(b appendBench) error {
	return b.withLoans(func(s *segment, a engines.InPlaceAppender) error {
		for i, n := range []int64{1, 4096, 50_000} {
			memory, err := s.mustLend(a, n)
			if err != nil {
				return err
			}
			pattern(84).fill(memory, 0)
			a.Abandon()
			if err := s.check(); err != nil {
				return fmt.Errorf("after a loan of %d was abandoned: %w", n, err)
			}
			if i == 1 { // A byte, behind which whatever was left would show.
				if err := errors.Join(s.append([]byte{7}), s.check()); err != nil {
					return err
				}
			}
		}
		memory, err := s.mustLend(a, 10_000)
		if err != nil {
			return err
		}
		pattern(85).fill(memory, 0)
		a.Abandon()
		return errors.Join(s.stop(), s.check())
	})
}

// appendEitherWay appends data in place where that is possible and asked for.
func (s *segment) appendEitherWay(data []byte, inPlace bool) (lent bool, err error) {
	a, ok := s.appender.(engines.InPlaceAppender)
	if !ok || !inPlace || len(data) == 0 {
		return false, s.append(data)
	}
	memory, err := a.Reserve(int64(len(data)))
	if err != nil {
		return false, fmt.Errorf("reserve(%d) at %d: %w", len(data), len(s.want), err)
	}
	if memory == nil {
		return false, s.append(data)
	}
	copy(memory, data)
	return true, s.publish(a, data)
}

func checkLoansBesideAppends(b appendBench) error {
	return b.withLoans(func(s *segment, a engines.InPlaceAppender) error {
		rng := rand.New(rand.NewPCG(8, 8))
		loans := 0
		for i := 0; len(s.want) < 20<<20; i++ {
			data := pattern(86).bytes(int64(len(s.want)), rng.Int64N(1<<20)+1)
			lent, err := s.appendEitherWay(data, i%3 > 0)
			if err != nil {
				return err
			}
			if lent {
				loans++
			}
			if i%20 == 19 {
				size := int64(len(s.want)) - rng.Int64N(100_000)
				if err := a.Truncate(size); err != nil {
					return fmt.Errorf("truncate: %w", err)
				}
				s.want = s.want[:size]
			}
		}
		if loans == 0 {
			return fmt.Errorf("%w: nothing was lent", errUnproved)
		}
		return errors.Join(s.stop(), s.check(), s.open(), s.append([]byte{7}), s.check())
	})
}

func checkLentPageLost(b appendBench) error {
	return b.withLoans(func(s *segment, a engines.InPlaceAppender) error {
		memory, err := s.mustLend(a, 100_000)
		if err != nil {
			return err
		}
		if err := s.file.Truncate(int64(len(s.want))); err != nil {
			return err
		}
		data := pattern(87).bytes(0, 100_000)
		err = vfs.Guard(s.file.Name(), int64(len(s.want)), memory, func() error {
			copy(memory, data)
			return nil
		})
		if err != nil {
			a.Abandon()
		} else if err := s.publish(a, data); err != nil {
			return err
		}
		if err := s.append(data[:50_000]); err != nil { // The loss may be met here.
			if got := a.Size(); got != int64(len(s.want)) {
				return fmt.Errorf("size is %d after %w, want %d", got, err, len(s.want))
			}
		}
		return errors.Join(s.append(data[50_000:]), s.check())
	})
}

func checkNoLoanAfterFailedFlush(b appendBench) error {
	return b.withLoans(func(s *segment, a engines.InPlaceAppender) error {
		if _, err := s.mustLend(a, 100); err != nil {
			return err
		}
		repair, err := s.breakDevice()
		if err != nil {
			return err
		}
		flushErr := a.Flush()
		if err := repair(); err != nil {
			return err
		}
		if flushErr == nil {
			return fmt.Errorf("flush succeeded on a device that cannot sync")
		}
		if _, err := a.Publish(); err == nil {
			return fmt.Errorf("publish succeeded after Flush had failed with: %w", flushErr)
		}
		if memory, err := a.Reserve(100); err == nil {
			return fmt.Errorf("reserve lent %d bytes after Flush had failed with: %w", len(memory), flushErr)
		}
		return nil
	})
}
