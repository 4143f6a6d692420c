package enginetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"tidemark/engines"
	"tidemark/internal/vfs"
)

// checkPowerCut appends and flushes, cuts the power now and then, and has the
// engine go on with what is left behind the bytes that were flushed.
func checkPowerCut(b appendBench) error {
	disk, err := newRecordedMedium(b.dir)
	if err != nil {
		return err
	}
	if err := b.cutPower(disk); err != nil {
		return errors.Join(err, disk.Close())
	}
	memory, err := newMemoryMedium()
	if err != nil {
		return errors.Join(err, disk.Close())
	}
	// Not every engine runs on a file without a descriptor.
	if a, openErr := b.spec.Open(memory, 0, engines.AppendOptions{SegmentBytes: smallSegment}); openErr == nil {
		if err = a.Close(); err == nil {
			err = b.cutPower(memory)
		}
	}
	return errors.Join(err, disk.Close())
}

func (b appendBench) cutPower(m medium) error {
	s := &segment{spec: b.spec, options: engines.AppendOptions{SegmentBytes: smallSegment}, file: m}
	if err := s.open(); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(7, 7))
	flushed := 0
	for i := range uint64(40) {
		if err := s.append(pattern(36).bytes(int64(len(s.want)), rng.Int64N(9000)+1)); err != nil {
			return errors.Join(err, s.stop())
		}
		if i%4 == 1 {
			if err := s.appender.Flush(); err != nil {
				return errors.Join(fmt.Errorf("flush: %w", err), s.stop())
			}
			flushed = len(s.want)
		}
		if i%3 == 0 {
			if err := s.goesOn(m, i, flushed); err != nil {
				return errors.Join(fmt.Errorf("power cut with %d of %d bytes flushed: %w", flushed, len(s.want), err), s.stop())
			}
		}
	}
	return s.stop()
}

// goesOn checks the flushed bytes in what a power cut leaves, and has the engine
// append behind them.
func (s *segment) goesOn(m medium, seed uint64, flushed int) error {
	f, err := m.cut(seed)
	if err != nil {
		return err
	}
	left, err := contentOf(f)
	if err == nil && len(left) < flushed {
		err = fmt.Errorf("%d bytes are left", len(left))
	}
	if err == nil {
		err = compare(left[:flushed], s.want[:flushed], 0)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	survivor := &segment{spec: s.spec, options: s.options, file: f, want: append([]byte(nil), s.want[:flushed]...)}
	return errors.Join(survivor.lives(), f.Close())
}

// lives has a new engine take the file over, append and close, and wants the
// wanted bytes and no more.
func (s *segment) lives() error {
	if err := s.open(); err != nil {
		return err
	}
	for _, n := range []int64{61, 10_000} {
		if err := s.append(pattern(37).bytes(int64(len(s.want)), n)); err != nil {
			return errors.Join(err, s.stop())
		}
	}
	if err := s.stop(); err != nil {
		return err
	}
	got, err := contentOf(s.file)
	if err != nil {
		return err
	}
	return compare(got, s.want, 0)
}

// checkTornTails opens files whose valid bytes end before, at and behind the
// bounds of sectors and pages, with every kind of rest behind them.
func checkTornTails(b appendBench) error {
	garbage := pattern(8).bytes(0, 200_000)
	tails := map[string][]byte{
		"a torn sector":         garbage[:300],
		"pages of old bytes":    garbage,
		"a length without data": make([]byte, 200_000),
		"zeros, then old bytes": append(append([]byte(nil), zeros[:5000]...), garbage[:5000]...),
		"old bytes, then zeros": append(append([]byte(nil), garbage[:5000]...), zeros[:5000]...),
		"nothing":               nil,
	}
	for kind, tail := range tails {
		for _, valid := range []int64{0, 1, 511, 4096, 4097, 10_001} {
			if err := b.tornTail(pattern(7).bytes(0, valid), tail); err != nil {
				return fmt.Errorf("%d valid bytes and behind them %s: %w", valid, kind, err)
			}
		}
	}
	return nil
}

func (b appendBench) tornTail(valid, tail []byte) error {
	name := filepath.Join(b.dir, "segment")
	if err := os.WriteFile(name, append(append([]byte(nil), valid...), tail...), 0o644); err != nil {
		return err
	}
	f, err := vfs.OS{}.Open(name)
	if err != nil {
		return err
	}
	s := &segment{spec: b.spec, options: engines.AppendOptions{SegmentBytes: smallSegment}, file: f, want: valid}
	return errors.Join(s.lives(), f.Close())
}

// checkLostEnd takes what an engine reserved away from it.
func checkLostEnd(b appendBench) error {
	return b.with(64<<20, func(s *segment) error {
		for round := range 3 {
			if err := s.append(pattern(38).bytes(int64(len(s.want)), 1000)); err != nil {
				return err
			}
			if err := s.file.Truncate(int64(len(s.want))); err != nil {
				return err
			}
			before := int64(len(s.want))
			buf := pattern(39).bytes(before, 100_000)
			_, err := s.appender.Append([][]byte{buf})
			if err == nil {
				s.want = append(s.want, buf...)
			}
			if got := s.appender.Size(); got != int64(len(s.want)) {
				return fmt.Errorf("round %d: size is %d after Append returned %v at %d", round, got, err, before)
			}
			if err := s.append(buf[:7]); err != nil {
				return fmt.Errorf("after the loss was met: %w", err)
			}
			if err := s.check(); err != nil {
				return err
			}
		}
		return nil
	})
}
