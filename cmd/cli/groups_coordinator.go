package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// coordinatorWithin is how long the coordinator of a group is waited for: the first question
// about any group has its topic created, and after a kill another broker takes over once the
// session of the dead one has ended.
const coordinatorWithin = 10 * time.Second

// coordinated asks again while there is no coordinator of one of the groups, for a while.
func coordinated(ctx context.Context, admin *kadm.Client, groups []string, ask func() error) error {
	late := time.NewTimer(coordinatorWithin)
	defer late.Stop()
	var absent error // of a coordinator that is not there, with what a broker says of it
	reason := ""
	for {
		err := ask()
		switch {
		case err != nil && absent != nil && ctx.Err() != nil:
			return absent // That the time is over says less.
		case err == nil || !passes(err):
			return err
		}
		reason = cmp.Or(reasonOfNone(ctx, admin, groups), reason)
		if absent = err; reason != "" {
			absent = fmt.Errorf("%w (%s)", err, reason)
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-late.C:
			return absent
		case <-ctx.Done():
			return absent
		}
	}
}

// passes says whether an error is of a coordinator that will be there, or of a broker that
// another one stands in for, sooner or later.
func passes(err error) bool {
	for _, passing := range []error{kerr.CoordinatorNotAvailable, kerr.CoordinatorLoadInProgress, kerr.NotCoordinator} {
		if errors.Is(err, passing) {
			return true
		}
	}
	var unreached *net.OpError
	return errors.As(err, &unreached)
}

// reasonOfNone is what a broker says of a coordinator that is not there; empty for nothing.
func reasonOfNone(ctx context.Context, admin *kadm.Client, groups []string) string {
	for _, c := range admin.FindGroupCoordinators(ctx, groups...).Sorted() {
		if c.Err != nil && c.ErrMessage != "" {
			return c.ErrMessage
		}
	}
	return ""
}
