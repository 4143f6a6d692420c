package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Kind is how a value is written; the names are those of Kafka's ConfigDef.Type.
type Kind string

// The kinds in use.
const (
	Bool   Kind = "BOOLEAN"
	Int    Kind = "INT"
	Long   Kind = "LONG"
	String Kind = "STRING"
	List   Kind = "LIST"
)

// Def is one configuration name with all there is to know about it.
type Def struct {
	// Name is the broker's name for it, in server.properties.
	Name string
	// TopicName is the topic's name for it; empty when a topic has none.
	TopicName string
	// Others are further names for the same value, weaker than Name; the first
	// one that is set wins.
	Others []Other
	// Kind is how the value is written.
	Kind Kind
	// Default is the value when nothing is set; "" may mean unset.
	Default string
	// Valid says in words which values are accepted; "" when any of the kind.
	Valid string
	// Doc is one or two sentences.
	Doc string
	// Dynamic says that it can change while the broker runs.
	Dynamic bool
	// Own says that the name is ours, not Kafka's.
	Own bool
	// Fixed says that a topic keeps the value that it was created with.
	Fixed bool

	set      func(*Broker, string) error
	get      func(*Broker) string
	setTopic func(*Topic, string) error
	getTopic func(*Topic) string
}

// Other is a second name of a setting.
type Other struct {
	// Name as written in server.properties.
	Name string
	// Factor turns the value into the main name's unit; 1 for a plain synonym.
	Factor int64
}

// Value is the setting's text in b.
func (d Def) Value(b *Broker) string { return d.get(b) }

// TopicValue is the setting's text in t; d must have a TopicName.
func (d Def) TopicValue(t *Topic) string { return d.getTopic(t) }

// format is one way to write a value of type T.
type format[T any] struct {
	kind  Kind
	parse func(string) (T, error)
	text  func(T) string
}

// rule narrows the accepted values; valid is its wording.
type rule[T any] struct {
	valid string
	ok    func(T) bool
}

// option sets a rarely needed part of a Def.
type option func(*Def)

func broker[T any](name string, field func(*Broker) *T, f format[T], def, doc string, rules []rule[T], options ...option) Def {
	d := Def{Name: name, Kind: f.kind, Default: def, Doc: doc, Valid: words(rules)}
	d.set = func(b *Broker, text string) error { return assign(field(b), f, rules, text) }
	d.get = func(b *Broker) string { return f.text(*field(b)) }
	for _, o := range options {
		o(&d)
	}
	return d
}

func topic[T any](topicName, name string, field func(*Topic) *T, f format[T], def, doc string, rules []rule[T], options ...option) Def {
	d := broker(name, func(b *Broker) *T { return field(&b.TopicDefaults) }, f, def, doc, rules, options...)
	d.TopicName = topicName
	d.Dynamic = !d.Fixed
	d.setTopic = func(t *Topic, text string) error { return assign(field(t), f, rules, text) }
	d.getTopic = func(t *Topic) string { return f.text(*field(t)) }
	return d
}

func assign[T any](target *T, f format[T], rules []rule[T], text string) error {
	v, err := f.parse(strings.TrimSpace(text))
	if err != nil {
		return err
	}
	for _, r := range rules {
		if !r.ok(v) {
			return fmt.Errorf("%q is not %s", text, r.valid)
		}
	}
	*target = v
	return nil
}

func words[T any](rules []rule[T]) string {
	var parts []string
	for _, r := range rules {
		parts = append(parts, r.valid)
	}
	return strings.Join(parts, ", ")
}

func others(list ...Other) option { return func(d *Def) { d.Others = list } }

func own(d *Def) { d.Own = true }

func dynamic(d *Def) { d.Dynamic = true }

// fixed is of a topic's setting; the broker's default cannot change at run time
// either, or topics without one of their own would change with it.
func fixed(d *Def) { d.Fixed = true }

// The formats.
var (
	boolean = format[bool]{Bool, parseBool, strconv.FormatBool}
	text    = format[string]{String, func(s string) (string, error) { return s, nil }, func(s string) string { return s }}
	integer = format[int32]{Int, parseInt, func(v int32) string { return strconv.Itoa(int(v)) }}
	long    = format[int64]{Long, parseLong, func(v int64) string { return strconv.FormatInt(v, 10) }}
	list    = format[[]string]{List, parseList, func(v []string) string { return strings.Join(v, ",") }}
	millis  = format[time.Duration]{Long, parseMillis, func(v time.Duration) string { return strconv.FormatInt(v.Milliseconds(), 10) }}
)

func parseBool(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("%q is not true or false", s)
}

func parseInt(s string) (int32, error) {
	v, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number of 32 bits", s)
	}
	return int32(v), nil
}

func parseLong(s string) (int64, error) {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number of 64 bits", s)
	}
	return v, nil
}

func parseMillis(s string) (time.Duration, error) {
	v, err := parseLong(s)
	if err != nil {
		return 0, err
	}
	const most = int64(1<<63-1) / int64(time.Millisecond)
	return time.Duration(max(min(v, most), -most)) * time.Millisecond, nil
}

func parseList(s string) ([]string, error) {
	var out []string
	for _, part := range strings.Split(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out, nil
}

// The rules.

func atLeast[T int32 | int64](least T) []rule[T] {
	return []rule[T]{{fmt.Sprintf("at least %d", least), func(v T) bool { return v >= least }}}
}

func between[T int32 | int64](least, most T) []rule[T] {
	return []rule[T]{{fmt.Sprintf("%d to %d", least, most), func(v T) bool { return v >= least && v <= most }}}
}

func lasting(least time.Duration) []rule[time.Duration] {
	return []rule[time.Duration]{{fmt.Sprintf("at least %d ms", least.Milliseconds()),
		func(v time.Duration) bool { return v >= least }}}
}

// atLeastOne bounds what is given in a unit longer than milliseconds.
func atLeastOne(name string, unit time.Duration) []rule[time.Duration] {
	return []rule[time.Duration]{{"at least 1 " + name, func(v time.Duration) bool { return v >= unit }}}
}

func oneOf(values ...string) []rule[string] {
	return []rule[string]{{"one of " + strings.Join(values, ", "), func(v string) bool { return has(values, v) }}}
}

func named(s string) []rule[string] {
	return []rule[string]{{s, func(v string) bool { return v != "" }}}
}

func eachOf(values ...string) []rule[[]string] {
	return []rule[[]string]{{"a list of " + strings.Join(values, ", "), func(v []string) bool {
		for _, s := range v {
			if !has(values, s) {
				return false
			}
		}
		return len(v) > 0
	}}}
}
