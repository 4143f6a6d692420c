package enginetest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
)

// besideReaders runs do while readers verify what is published, and nothing
// behind it; the file has the pattern 41 throughout.
func (p *pair) besideReaders(published *atomic.Int64, do func() error) error {
	const readers = 3
	var done atomic.Bool
	var all sync.WaitGroup
	errs := make([]error, readers)
	for i := range readers {
		all.Go(func() { errs[i] = readWhile(p.reader, 41, published, &done, uint64(i)) })
	}
	err := do()
	done.Store(true)
	all.Wait()
	return errors.Join(append(errs, err)...)
}

// grow appends up to a position, and publishes it where that is asked.
func (p *pair) grow(to int64, published *atomic.Int64) error {
	at := int64(len(p.want))
	if err := p.append(pattern(41).bytes(at, to-at)); err != nil {
		return err
	}
	if published != nil {
		published.Store(to)
	}
	return nil
}

// checkReadersDuringTruncate truncates and appends behind bytes that readers
// read meanwhile: the block in which they end is written again and again.
func checkReadersDuringTruncate(b pairBench) error {
	const kept = 100_001
	return b.with(smallSegment, func(p *pair) error {
		var published atomic.Int64
		if err := p.grow(kept, &published); err != nil {
			return err
		}
		return p.besideReaders(&published, func() error {
			rng := rand.New(rand.NewPCG(4, 4))
			for i := range 40 {
				if err := p.grow(int64(len(p.want))+1+rng.Int64N(30_000), nil); err != nil {
					return err
				}
				size := kept + rng.Int64N(int64(len(p.want))-kept+1)
				if i%3 == 0 {
					size = kept
				}
				if err := p.appender.Truncate(size); err != nil {
					return fmt.Errorf("truncate(%d): %w", size, err)
				}
				p.want = p.want[:size]
			}
			return nil
		})
	})
}

// checkReadersDuringSeal ends one appender after the other, as a roll and a
// restart do, while readers read.
func checkReadersDuringSeal(b pairBench) error {
	return b.with(4<<20, func(p *pair) error {
		var published atomic.Int64
		return p.besideReaders(&published, func() error {
			for i := range int64(30) {
				if err := p.grow(int64(len(p.want))+3000*i+1, &published); err != nil {
					return err
				}
				if err := errors.Join(p.appender.Flush(), p.stop()); err != nil {
					return err
				}
				if err := p.open(); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// checkRemovedUnderBoth removes the name of a file that is being written and
// sent.
func checkRemovedUnderBoth(b pairBench) error {
	return b.with(smallSegment, func(p *pair) error {
		if err := p.append(pattern(56).bytes(0, 300_001)); err != nil {
			return err
		}
		c, err := p.reader.Chunk(100, 299_901)
		if err != nil {
			return fmt.Errorf("chunk: %w", err)
		}
		defer c.Release()
		if err := os.Remove(p.file.Name()); err != nil {
			return err
		}
		if err := p.append(pattern(57).bytes(300_001, 200_000)); err != nil {
			return fmt.Errorf("after the name was removed: %w", err)
		}
		if err := errors.Join(p.appender.Flush(), p.stop(), p.fetch(200_000, 300_000)); err != nil {
			return fmt.Errorf("after the name was removed: %w", err)
		}
		var sent bytes.Buffer
		if _, err := c.WriteTo(&sent); err != nil {
			return fmt.Errorf("a chunk that was out: %w", err)
		}
		return compare(sent.Bytes(), p.want[100:300_001], 100)
	})
}
