package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"tidemark/commitlog/inspect"
)

func newLogCommand(app *App) *cobra.Command {
	c := &cobra.Command{Use: "log", Short: "Look into the files of a log or of a trace, or cut a log's power"}
	c.AddCommand(newLogDumpCommand(app), newLogCutCommand(app), newLogTraceCommand(app))
	return c
}

func newLogDumpCommand(app *App) *cobra.Command {
	var o inspect.Options
	c := &cobra.Command{
		Use:   "dump DIR|FILE",
		Short: "Print and check segments, batches, indexes and checkpoints",
		Long: `Print and check the files of a partition's directory, or one file of it. The
exit code is 2 when something is wrong with them.`,
		Example: `  tidemark log dump tidemark-data/orders-0
  tidemark log dump --records tidemark-data/orders-0/00000000000000000000.log`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o.JSON = app.JSON
			problems, err := inspect.Dump(app.Out, args[0], o)
			if err != nil {
				return err
			}
			if problems > 0 {
				return WithCode(ExitInvalid, fmt.Errorf("%s: problems found: %d", args[0], problems))
			}
			return nil
		},
	}
	c.Flags().BoolVar(&o.Deep, "deep", false, "decompress every batch and check its records")
	c.Flags().BoolVar(&o.Records, "records", false, "print each record")
	return c
}
