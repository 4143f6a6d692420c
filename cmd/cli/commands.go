package cli

import "github.com/spf13/cobra"

// commands lists the tree's first level in the order of the help text.
var commands = []func(*App) *cobra.Command{
	newBrokerCommand,
	newZkCommand,
	newClusterCommand,
	newTopicsCommand,
	newGroupsCommand,
	newBenchCommand,
	newReportCommand,
	newSimCommand,
	newDoctorCommand,
	newLogCommand,
	newEnginesCommand,
	newVersionCommand,
}
