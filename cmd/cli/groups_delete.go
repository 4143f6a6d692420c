package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

func newGroupsDeleteCommand(app *App, f *clientFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "delete GROUP…",
		Short: "Delete groups that have no members, with their offsets",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return f.admin(c.Context(), func(ctx context.Context, admin *kadm.Client) error {
				err := coordinated(ctx, admin, args, func() error { return admin.FindGroupCoordinators(ctx, args...).Error() })
				if err != nil {
					return fmt.Errorf("find coordinators: %w", err)
				}
				responses, err := admin.DeleteGroups(ctx, args...)
				if err != nil {
					return fmt.Errorf("delete groups: %w", err)
				}
				deleted := []string{}
				var errs []error
				for _, r := range responses.Sorted() {
					if r.Err != nil {
						errs = append(errs, fmt.Errorf("delete group %s: %w", r.Group, noGroup(ctx, admin, []string{r.Group}, r.Err)))
						continue
					}
					deleted = append(deleted, r.Group)
				}
				return errors.Join(append(errs, app.printDeleted(deleted))...)
			})
		},
	}
}
