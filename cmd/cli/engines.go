package cli

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

type engineRow struct {
	Config string `json:"config"`
	Name   string `json:"name"`
	Doc    string `json:"doc"`
	// Unavailable says why the engine cannot run in the directory asked about.
	Unavailable string `json:"unavailable,omitempty"`
}

func newEnginesCommand(app *App) *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "engines",
		Short: "List the storage engines and whether they can run here",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			rows := engineRows(app, dir)
			return app.Print(rows, func(w io.Writer) error { return printEngines(w, rows) })
		},
	}
	c.Flags().StringVar(&dir, "data", ".", "directory whose file system is asked about")
	return c
}

func engineRows(app *App, dir string) []engineRow {
	var rows []engineRow
	add := func(config, name, doc string, available func(string) error) {
		row := engineRow{Config: config, Name: name, Doc: doc}
		if available != nil {
			if err := available(dir); err != nil {
				row.Unavailable = err.Error()
			}
		}
		rows = append(rows, row)
	}
	for _, s := range app.Engines.Appends() {
		add("storage.append.engine", s.Name, s.Doc, s.Available)
	}
	for _, s := range app.Engines.Reads() {
		add("storage.read.engine", s.Name, s.Doc, s.Available)
	}
	return rows
}

func printEngines(w io.Writer, rows []engineRow) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		doc := r.Doc
		if r.Unavailable != "" {
			doc = "not here: " + r.Unavailable
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", r.Config, r.Name, doc)
	}
	return t.Flush()
}
