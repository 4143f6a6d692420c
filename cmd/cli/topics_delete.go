package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

func newTopicsDeleteCommand(app *App, f *clientFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "delete NAME…",
		Short: "Delete topics with all their records",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return f.admin(c.Context(), func(ctx context.Context, admin *kadm.Client) error {
				responses, err := admin.DeleteTopics(ctx, args...)
				if err != nil {
					return fmt.Errorf("delete topics: %w", err)
				}
				deleted := []string{}
				var errs []error
				for _, r := range responses.Sorted() {
					if r.Err != nil {
						errs = append(errs, fmt.Errorf("delete topic %s: %w", r.Topic, noTopic(ctx, admin, r.Topic, refusal(r.Err, r.ErrMessage))))
						continue
					}
					deleted = append(deleted, r.Topic)
				}
				return errors.Join(append(errs, app.printDeleted(deleted))...)
			})
		},
	}
}
