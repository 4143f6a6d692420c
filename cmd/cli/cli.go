// Package cli is Tidemark's whole command tree as a library: a program that adds
// an engine or a strategy to the catalog and calls Main is a broker, a bench and a log tool
// with that engine. One file per command; flags are bound to the Options of the
// libraries that do the work, and nothing else happens here.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"tidemark/engines"
	"tidemark/replication"
	"tidemark/replication/catalog"
)

// Options is what a program brings along.
type Options struct {
	// Engines lists the storage engines that brokers and benches may use.
	Engines engines.Catalog
	// Strategies lists the replication strategies; the shipped ones if empty.
	Strategies replication.Catalog
}

// The exit codes, the same for every command.
const (
	// ExitOK: done as asked.
	ExitOK = 0
	// ExitFailed: a gate failed, or what was asked for could not be done.
	ExitFailed = 1
	// ExitInvalid: there is a result and it must not be used.
	ExitInvalid = 2
	// ExitUsage: the command line or the configuration is wrong.
	ExitUsage = 3
	// ExitBug: our mistake.
	ExitBug = 4
)

// App is what commands share. It is confined to the main goroutine.
type App struct {
	// Engines and Strategies are those of Options.
	Engines    engines.Catalog
	Strategies replication.Catalog
	// Out gets results, Err everything else.
	Out, Err io.Writer
	// JSON asks for results as one JSON document, or a line each for a stream.
	JSON bool
}

// Print writes v as indented JSON if JSON is set, else calls text.
func (a *App) Print(v any, text func(w io.Writer) error) error {
	if !a.JSON {
		return text(a.Out)
	}
	enc := json.NewEncoder(a.Out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// printDeleted writes the names of what was deleted.
func (a *App) printDeleted(names []string) error {
	return a.Print(map[string][]string{"deleted": names}, func(w io.Writer) error {
		if len(names) == 0 {
			return nil
		}
		_, err := fmt.Fprintf(w, "deleted %s\n", strings.Join(names, ", "))
		return err
	})
}

// codedError is an error that decides the exit code.
type codedError struct {
	code int
	error
}

func (e codedError) Unwrap() error { return e.error }

// WithCode gives err an exit code; nil stays nil. Without a code an error exits
// with ExitFailed.
func WithCode(code int, err error) error {
	if err == nil {
		return nil
	}
	return codedError{code, err}
}

// Usagef is an error of the command line.
func Usagef(format string, args ...any) error {
	return WithCode(ExitUsage, fmt.Errorf(format, args...))
}

// Main runs the command line of the process and exits. The first Ctrl-C or
// SIGTERM ends the command's context, the second the process.
func Main(o Options) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop()
	}()
	os.Exit(Run(ctx, o, os.Args[1:], os.Stdout, os.Stderr))
}

// Run runs one command line and returns its exit code.
func Run(ctx context.Context, o Options, args []string, out, errw io.Writer) (code int) {
	app := &App{Engines: o.Engines, Strategies: o.Strategies, Out: out, Err: errw}
	if len(app.Strategies.Specs()) == 0 {
		app.Strategies = catalog.Builtin()
	}
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(errw, "tidemark: this is a bug in tidemark: %v\n\n%s", p, debug.Stack())
			code = ExitBug
		}
	}()
	root := newRootCommand(app)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return ExitOK
	}
	fmt.Fprintln(errw, "tidemark:", err)
	var coded codedError
	if errors.As(err, &coded) {
		return coded.code
	}
	return ExitFailed
}

func newRootCommand(app *App) *cobra.Command {
	root := &cobra.Command{
		Use:           "tidemark",
		Short:         "A Kafka-protocol broker with swappable storage engines, and the bench around it",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetOut(app.Out)
	root.SetErr(app.Err)
	root.PersistentFlags().BoolVar(&app.JSON, "json", false, "print results as JSON")
	for _, command := range commands {
		root.AddCommand(command(app))
	}
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	strict(root)
	return root
}
