package znode

import (
	"context"
	"errors"
	"fmt"
)

// ErrISRUpdate means that a broker's isr.update is not the cluster's.
var ErrISRUpdate = errors.New("isr.update differs from the cluster's")

// AgreeISRUpdate makes value the cluster's isr.update where it has none yet, and
// refuses another one with ErrISRUpdate: leaders that write states themselves and
// a controller that does would undo each other's writes. A broker calls it before
// it registers.
func (c *Client) AgreeISRUpdate(ctx context.Context, value string) error {
	content := encodeObject([]field{{"version", 1}, {"isr.update", value}}, nil)
	for {
		data, _, err := c.get(ctx, isrUpdatePath)
		if errors.Is(err, ErrNotFound) {
			if err := c.createOnce(ctx, isrUpdatePath, content); err != nil && !errors.Is(err, ErrExists) {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		o, err := parseObject(data)
		var have string
		if err == nil {
			err = o.take("isr.update", &have, true)
		}
		if err != nil {
			return &FormatError{Path: isrUpdatePath, Err: err}
		}
		if have != value {
			return fmt.Errorf("%w: it is %q, this broker has %q; all brokers of a cluster need the same (to change it, stop them all and delete %s)",
				ErrISRUpdate, have, value, isrUpdatePath)
		}
		return nil
	}
}
