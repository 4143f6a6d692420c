package cli

import (
	"encoding/base64"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

func newTopicsCommand(app *App) *cobra.Command {
	f := &clientFlags{}
	c := &cobra.Command{Use: "topics", Short: "Create, list, describe, alter and delete topics"}
	f.bind(c)
	c.AddCommand(newTopicsCreateCommand(app, f), newTopicsListCommand(app, f), newTopicsDescribeCommand(app, f),
		newTopicsAlterCommand(app, f), newTopicsDeleteCommand(app, f))
	return c
}

// parsePairs reads name=value texts, in order.
func parsePairs(flag string, texts []string) (names []string, values map[string]string, err error) {
	values = make(map[string]string, len(texts))
	for _, text := range texts {
		name, value, found := strings.Cut(text, "=")
		if !found || name == "" {
			return nil, nil, Usagef("--%s %s: want name=value", flag, text)
		}
		if _, twice := values[name]; twice {
			return nil, nil, Usagef("--%s %s: given twice", flag, name)
		}
		names = append(names, name)
		values[name] = value
	}
	return names, values, nil
}

// topicID is the form that Kafka's own tools print.
func topicID(id kadm.TopicID) string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// refusal is a broker's error with the message beside it, which says more than what the
// code means in general.
func refusal(err error, message string) error {
	if err == nil || message == "" {
		return err
	}
	return refusedError{message, err}
}

type refusedError struct {
	message string
	error
}

func (r refusedError) Unwrap() error { return r.error }

func (r refusedError) Error() string {
	var code *kerr.Error
	if errors.As(r.error, &code) {
		return r.message + ": " + code.Message
	}
	return r.message + ": " + r.error.Error()
}
