package cli

import (
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
	reason := ""
	for {
		err := ask()
		if err == nil || !passes(err) {
			return err
		}
		if now := reasonOfNone(ctx, admin, groups); now != "" {
			reason = now
		}
		select {
		case <-time.After(100 * time.Millisecond):
			continue
		case <-late.C:
		case <-ctx.Done():
		}
		if reason != "" {
			return fmt.Errorf("%w (%s)", err, reason)
		}
		return err
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
