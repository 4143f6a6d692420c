package cli

import (
	"context"
	"time"
)

// every looks at once and then again after each interval, until ctx ends or a look
// fails; a look that fails because ctx has ended is no failure.
func every(ctx context.Context, interval time.Duration, look func() error) error {
	if interval <= 0 {
		return Usagef("--interval %s: want more than nothing", interval)
	}
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for {
		err := look()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
	}
}
