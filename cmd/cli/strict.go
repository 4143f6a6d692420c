package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"tidemark/internal/nearest"
)

// strict makes every wrong command, flag and number of arguments below c an
// error of ExitUsage that names the nearest right one.
func strict(c *cobra.Command) {
	c.SetFlagErrorFunc(flagError)
	if c.HasSubCommands() && !c.Runnable() {
		c.Args = cobra.ArbitraryArgs
		c.RunE = func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			return unknownCommand(c, args[0])
		}
	} else if args := c.Args; args != nil {
		c.Args = func(c *cobra.Command, list []string) error {
			if err := args(c, list); err != nil {
				if c.HasAvailableSubCommands() && len(list) > 0 {
					return unknownCommand(c, list[0])
				}
				return Usagef("%w (usage: %s)", err, c.UseLine())
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		strict(sub)
	}
}

func unknownCommand(c *cobra.Command, name string) error {
	var candidates []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			candidates = append(candidates, sub.Name())
		}
	}
	message := fmt.Sprintf("%s has no command %q", c.CommandPath(), name)
	if meant := nearest.Suggest(name, candidates); meant != "" {
		return Usagef("%s%s", message, meant)
	}
	return Usagef("%s (there are: %s)", message, strings.Join(candidates, ", "))
}

func flagError(c *cobra.Command, err error) error {
	var wrong string
	if _, name, found := strings.Cut(err.Error(), "unknown flag: --"); found {
		wrong = name
	}
	var candidates []string
	c.Flags().VisitAll(func(f *pflag.Flag) { candidates = append(candidates, f.Name) })
	c.InheritedFlags().VisitAll(func(f *pflag.Flag) { candidates = append(candidates, f.Name) })
	if near := nearest.Name(wrong, candidates, len(wrong)/3); wrong != "" && near != "" {
		return Usagef("%w; did you mean --%s?", err, near)
	}
	return Usagef("%s (%s --help lists the flags)", plainly(err), c.CommandPath())
}

// plainly puts what strconv says of a flag's value in the user's words.
func plainly(err error) string {
	text := err.Error()
	for function, want := range map[string]string{"strconv.ParseInt": "a whole number", "strconv.ParseUint": "a whole number from 0 up", "strconv.ParseFloat": "a number", "strconv.ParseBool": "true or false"} {
		if before, _, found := strings.Cut(text, function); found {
			return before + "want " + want
		}
	}
	return text
}
