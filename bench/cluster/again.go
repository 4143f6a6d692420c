package cluster

import (
	"errors"
	"fmt"
)

// ErrUnfit says that what is to start does not go with the data in its directory.
var ErrUnfit = errors.New("it does not go with the data that was kept")

// HasData says whether brokers may have left data: its metadata store has served.
func (s *State) HasData() bool { return s.Connect != "" }

// goOn makes a cluster that is to start the same as the earlier one in its directory,
// as far as the brokers' data depend on it.
func (s *State) goOn(earlier *State) error {
	s.EarlierTraces = earlier.EarlierTraces
	if !earlier.HasData() {
		return nil
	}
	if s.Zookeeper != earlier.Zookeeper {
		return fmt.Errorf("metadata store %s: %w, whose metadata is in %s", s.Zookeeper, ErrUnfit, earlier.Zookeeper)
	}
	if len(s.Brokers) < len(earlier.Brokers) {
		return fmt.Errorf("cluster of %d brokers: %w, which is that of %d", len(s.Brokers), ErrUnfit, len(earlier.Brokers))
	}
	s.Chroot = earlier.Chroot
	return nil
}
