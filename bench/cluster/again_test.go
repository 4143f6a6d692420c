package cluster

import (
	"errors"
	"strings"
	"testing"
)

// TestGoingOn: a cluster that goes on with kept data has its brokers and its metadata,
// and what would leave some of it behind is refused.
func TestGoingOn(t *testing.T) {
	lab := start(t, Options{Dir: t.TempDir(), Brokers: 1}) // a store that is there already
	at := stateOf(t, lab).Connect
	dir := t.TempDir()
	c := start(t, Options{Dir: dir, Brokers: 2, Zookeeper: at})
	chroot := stateOf(t, c).Chroot
	must(t, c.Down(true))

	for want, o := range map[string]Options{
		"1 brokers":                     {Dir: dir, Brokers: 1, Zookeeper: at},
		"whose metadata is in " + at:    {Dir: dir, Brokers: 2, Zookeeper: Embedded},
		"metadata store " + at + "/lab": {Dir: dir, Brokers: 2, Zookeeper: at + "/lab"},
	} {
		if _, err := Start(t.Context(), o); !errors.Is(err, ErrUnfit) || !strings.Contains(err.Error(), want) {
			t.Errorf("with %d brokers and the store %s: %v, want %q", o.Brokers, o.Zookeeper, err, want)
		}
	}
	c = start(t, Options{Dir: dir, Brokers: 3, Zookeeper: at})
	if got := stateOf(t, c).Chroot; got != chroot {
		t.Errorf("the cluster goes on below %s, and its metadata is below %s", got, chroot)
	}
	must(t, c.Down(false))
	c = start(t, Options{Dir: dir, Brokers: 1, Zookeeper: at}) // nothing is left to go on with
	if got := stateOf(t, c).Chroot; got == chroot {
		t.Errorf("a new cluster has the metadata of the one before, below %s", got)
	}
}
