package direct

import (
	"fmt"

	"tidemark/internal/vfs"
)

// Blocks are reserved as many as the file has, within these bounds.
const (
	minStep = 1 << 20
	maxStep = 64 << 20
)

// reserve makes the file long enough for whole blocks up to end, by a whole step
// or, where the disk has no more, by what is needed now.
func (a *appender) reserve(end int64) error {
	least := a.device.ceil(end)
	if least <= a.reserved {
		return nil
	}
	to := a.nextReservation(least)
	err := vfs.Allocate(a.file, a.reserved, to)
	if err != nil && least < to {
		to, err = least, vfs.Allocate(a.file, a.reserved, least)
	}
	if err != nil {
		return err
	}
	a.reserved = to
	return nil
}

// nextReservation is the length to give the file so that it has least bytes: a
// step more, but no more than a segment unless it must.
func (a *appender) nextReservation(least int64) int64 {
	step := min(max(a.reserved, minStep), maxStep)
	return max(least, a.device.floor(min(a.reserved+step, a.device.ceil(a.segmentBytes))))
}

// trim makes the file end at size.
func (a *appender) trim() error {
	if err := a.file.Truncate(a.size); err != nil {
		return fmt.Errorf("trim %s: %w", a.file.Name(), err)
	}
	a.reserved, a.torn = a.size, false
	return nil
}
