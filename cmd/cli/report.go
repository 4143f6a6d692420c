package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tidemark/reports/dataset"
	"tidemark/reports/page"
)

// reportResult is what `tidemark report --json` prints.
type reportResult struct {
	HTML     string       `json:"html"`
	Markdown string       `json:"markdown"`
	Report   *page.Report `json:"report"`
}

func newReportCommand(app *App) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "report DIR...",
		Short: "Write the report of one or more result folders",
		Long: `Write the report of one or more result folders: one HTML file that needs nothing
else, and the same sentences and tables as Markdown beside it.

Folders of one machine are put side by side; those of different machines stay in
panels of their own. docs/results.md says what every file and figure means.`,
		Example: `  tidemark report results/latest
  tidemark report results/quick/* -o across.html`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, folders []string) error {
			return writeReport(app, output, folders)
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "HTML file to write (default report.html in the folder, report-across.html in the last of several)")
	return c
}

func writeReport(app *App, output string, folders []string) error {
	if output == "" {
		output = page.Path(folders...)
	}
	r, err := page.Load(folders...)
	if errors.Is(err, dataset.ErrNothing) {
		return WithCode(ExitInvalid, err)
	}
	if err != nil {
		return err
	}
	if err := r.WriteFiles(output); err != nil {
		return err
	}
	if !app.JSON { // the sentences go to people, the paths to both
		r.Summary(app.Err)
	}
	result := reportResult{HTML: output, Markdown: strings.TrimSuffix(output, filepath.Ext(output)) + ".md", Report: r}
	err = app.Print(result, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, output)
		return err
	})
	if faults := r.Faults(); err == nil && len(faults) > 0 {
		err = WithCode(ExitInvalid, fmt.Errorf("the report is written, but not everything could be read: %s", strings.Join(faults, "; ")))
	}
	return err
}
