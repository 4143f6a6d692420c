package workload

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"tidemark/internal/nearest"
)

// Error is a mistake in a suite file, with the place it was made.
type Error struct {
	Line, Column int
	Message      string
}

// Error returns line:column: message.
func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message) }

func errorAt(t *token.Token, format string, args ...any) *Error {
	e := &Error{Message: fmt.Sprintf(format, args...)}
	if t != nil && t.Position != nil {
		e.Line, e.Column = t.Position.Line, t.Position.Column
	}
	return e
}

// Text is a scalar of the file as it was written, with its place.
type Text struct {
	Value string
	token *token.Token
}

// UnmarshalYAML takes any scalar; a list or a map is an error.
func (t *Text) UnmarshalYAML(n ast.Node) error {
	text, err := scalar(n)
	if err != nil {
		return err
	}
	*t = text
	return nil
}

func scalar(n ast.Node) (Text, error) {
	switch n := n.(type) {
	case *ast.StringNode:
		return Text{n.Value, n.GetToken()}, nil
	case *ast.LiteralNode:
		return Text{n.Value.Value, n.GetToken()}, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return Text{n.GetToken().Value, n.GetToken()}, nil
	case *ast.NullNode:
		if n.GetToken().Value == "null" { // the name of a driver, written bare
			return Text{"null", n.GetToken()}, nil
		}
	}
	return Text{}, errorAt(n.GetToken(), "want a single value, found %s", strings.ToLower(n.Type().String()))
}

// Entry is one `name: value` of a settings map.
type Entry struct{ Name, Value Text }

// Entries is a map of settings in the order of the file.
type Entries []Entry

// UnmarshalYAML takes a map of scalars.
func (e *Entries) UnmarshalYAML(n ast.Node) error {
	return eachField(n, func(name Text, value ast.Node) error {
		v, err := scalar(value)
		if err != nil {
			return err
		}
		*e = append(*e, Entry{name, v})
		return nil
	})
}

// Axis is a varied setting and its values, the base cell's first.
type Axis struct {
	Name   Text
	Values []Text
}

// Axes are the varied settings in the order of the file.
type Axes []Axis

// UnmarshalYAML takes a map from names to lists of scalars.
func (a *Axes) UnmarshalYAML(n ast.Node) error {
	return eachField(n, func(name Text, value ast.Node) error {
		list, ok := value.(*ast.SequenceNode)
		if !ok || len(list.Values) == 0 {
			return errorAt(value.GetToken(), "axis %s: want a list of values", name.Value)
		}
		axis := Axis{Name: name}
		for _, v := range list.Values {
			text, err := scalar(v)
			if err != nil {
				return err
			}
			axis.Values = append(axis.Values, text)
		}
		*a = append(*a, axis)
		return nil
	})
}

func eachField(n ast.Node, field func(name Text, value ast.Node) error) error {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	case *ast.NullNode:
		return nil
	default:
		return errorAt(n.GetToken(), "want a map of names to values")
	}
	for _, v := range values {
		name, err := scalar(v.Key)
		if err != nil {
			return err
		}
		if v.Value == nil {
			return errorAt(name.token, "%s has no value", name.Value)
		}
		if err := field(name, v.Value); err != nil {
			return err
		}
	}
	return nil
}

// decode reads the file strictly and turns the library's errors into ours.
func decode(data []byte, s *Spec) error {
	err := yaml.UnmarshalWithOptions(data, s, yaml.Strict(), yaml.DisallowUnknownField())
	if err == nil {
		return nil
	}
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	var unknown *yaml.UnknownFieldError
	if errors.As(err, &unknown) && unknown.Token != nil {
		name := unknown.Token.Value
		return errorAt(unknown.Token, "unknown field %q%s", name, didYouMean(name, fieldNames))
	}
	var positioned yaml.Error
	if errors.As(err, &positioned) {
		return errorAt(positioned.GetToken(), "%s", positioned.GetMessage())
	}
	return err
}

// fieldNames are the fields of Spec, Experiment, Matrix and Trials, for suggestions.
var fieldNames = []string{"apiVersion", "name", "about", "seed", "experiments", "blocks", "last",
	"workload", "client", "topic", "broker", "matrix", "design", "axes", "include", "exclude", "aa", "defaults",
	"trials", "of", "count", "fault", "rate", "least", "most", "record.size"}

// didYouMean returns "; did you mean X?" for the nearest name, or nothing.
func didYouMean(name string, known []string) string {
	return suggest(nearest.Name(name, known, max(2, len(name)/3)))
}

func suggest(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", name)
}
