package cli

import (
	"github.com/spf13/cobra"
)

func newGroupsCommand(app *App) *cobra.Command {
	f := &clientFlags{}
	c := &cobra.Command{Use: "groups", Short: "List, describe and delete consumer groups, and move their offsets"}
	f.bind(c)
	c.AddCommand(newGroupsListCommand(app, f), newGroupsDescribeCommand(app, f), newGroupsResetOffsetsCommand(app, f),
		newGroupsDeleteCommand(app, f))
	return c
}
