package config

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Source says where a value came from.
type Source string

// The sources, weakest first.
const (
	SourceDefault Source = "default"
	SourceFile    Source = "file"
	SourceFlag    Source = "flag"
	SourceDynamic Source = "dynamic"
)

// Origin is where one setting was made.
type Origin struct {
	Source Source
	// Name is the name that was used, which may be one of Def.Others.
	Name string
	// File, Line and Column locate a setting made in a file; Line is 1-based
	// and 0 when unknown.
	File         string
	Line, Column int
}

// String is "server.properties:12:1", "--set" or the source's name.
func (o Origin) String() string {
	switch {
	case o.File != "" && o.Line > 0:
		return fmt.Sprintf("%s:%d:%d", o.File, o.Line, o.Column)
	case o.Source == SourceFlag:
		return "--set"
	case o.Source == "":
		return string(SourceDefault)
	}
	return string(o.Source)
}

// Setting is one name and value with its origin (Origin.Name is ignored).
type Setting struct {
	Name, Value string
	Origin      Origin
}

// Parse reads settings that come from no particular place. Every problem is
// reported, not only the first.
func Parse(props map[string]string) (*Broker, error) {
	var settings []Setting
	for _, name := range sortedKeys(props) {
		settings = append(settings, Setting{name, props[name], Origin{Source: SourceFile}})
	}
	return ParseSettings(settings)
}

// ParseSettings reads settings in rising order of precedence: a later one
// replaces an earlier one of the same name.
func ParseSettings(settings []Setting) (*Broker, error) {
	b := &Broker{origins: map[string]Origin{}}
	for _, d := range table {
		if err := d.set(b, d.Default); err != nil {
			return nil, fmt.Errorf("default of %s: %w", d.Name, err)
		}
	}
	var errs errorList
	rank := map[string]int{}
	for _, s := range settings {
		errs.add(b.apply(s, rank))
	}
	if errs.empty() {
		errs.add(b.check())
	}
	if err := errs.err(); err != nil {
		return nil, err
	}
	return b, nil
}

// apply takes one setting over. rank remembers, per setting of equal source,
// how weak the name in force is: 0 for the main name, then Others in order.
func (b *Broker) apply(s Setting, rank map[string]int) error {
	entry, ok := names[s.Name]
	if !ok {
		if reason, known := unserved[s.Name]; known {
			b.warnings = append(b.warnings, warning(s, reason))
			return nil
		}
		if reason, known := refused[s.Name]; known {
			return s.locate(fmt.Errorf("%s: %s", s.Name, reason))
		}
		return s.locate(unknown(s.Name, brokerNames()))
	}
	if o, set := b.origins[entry.def.Name]; set && o.Source == s.Origin.Source && rank[entry.def.Name] < entry.rank {
		return nil
	}
	value, err := entry.scale(s.Value)
	if err == nil {
		err = entry.def.set(b, value)
	}
	if err != nil {
		return s.locate(fmt.Errorf("%s: %w", s.Name, err))
	}
	rank[entry.def.Name] = entry.rank
	s.Origin.Name = s.Name
	b.origins[entry.def.Name] = s.Origin
	return nil
}

func warning(s Setting, reason string) string {
	text := fmt.Sprintf("%s has no effect here", s.Name)
	if reason != "" {
		text += ": " + reason
	}
	if s.Origin.Line > 0 || s.Origin.Source == SourceFlag {
		text = s.Origin.String() + ": " + text
	}
	return text
}

// locate puts the place of a setting in front of what is wrong with it.
func (s Setting) locate(err error) error {
	if s.Origin.File == "" && s.Origin.Source != SourceFlag {
		return err
	}
	return fmt.Errorf("%s: %w", s.Origin, err)
}

// scale turns a value given under another name into the main name's unit.
func (e entry) scale(value string) (string, error) {
	if e.factor <= 1 {
		return value, nil
	}
	n, err := parseLong(strings.TrimSpace(value))
	if err != nil || n < 0 {
		return value, err
	}
	if n > (1<<63-1)/e.factor {
		return "", fmt.Errorf("%q is out of range", value)
	}
	return strconv.FormatInt(n*e.factor, 10), nil
}

// Origin tells where the value of a broker name comes from.
func (b *Broker) Origin(name string) Origin {
	if e, ok := names[name]; ok {
		if o, ok := b.origins[e.def.Name]; ok {
			return o
		}
	}
	return Origin{Source: SourceDefault}
}

// check validates what one row alone cannot.
func (b *Broker) check() error {
	var errs errorList
	if !b.AllowOpenListener {
		if !b.Listener.Loopback() {
			errs.add(fmt.Errorf("listeners: %s can be reached from other machines and there is no authentication: "+
				"pass --allow-open-listener (listeners.allow.open=true) if that is intended", b.Listener))
		}
		if b.MetricsListener != "" && !IsLoopback(b.MetricsListener) {
			errs.add(fmt.Errorf("metrics.listener: %q is not a loopback host:port: "+
				"pass --allow-open-listener (listeners.allow.open=true) if that is intended", b.MetricsListener))
		}
	}
	if b.Advertised != (Listener{}) && (b.Advertised.Host == "" || b.Advertised.Host == "0.0.0.0" || b.Advertised.Port == 0) {
		errs.add(fmt.Errorf("advertised.listeners: %s is no address a client could connect to", b.Advertised))
	}
	errs.add(b.splitChroot())
	errs.add(b.Cleaner.check())
	errs.add(b.Groups.check())
	errs.add(b.Replication.check())
	errs.add(b.TopicDefaults.check())
	return errs.err()
}

// splitChroot takes the path off the last server of zookeeper.connect.
func (b *Broker) splitChroot() error {
	servers := append([]string(nil), b.ZookeeperConnect...)
	for i, s := range servers {
		if at := strings.IndexByte(s, '/'); at >= 0 {
			if i != len(servers)-1 {
				return fmt.Errorf("zookeeper.connect: the path belongs behind the last server, not behind %q", s)
			}
			servers[i], b.ZookeeperChroot = s[:at], strings.TrimRight(s[at:], "/")
		}
		if _, _, err := net.SplitHostPort(servers[i]); err != nil {
			return fmt.Errorf("zookeeper.connect: %q is not host:port", servers[i])
		}
	}
	b.ZookeeperConnect = servers
	return nil
}

// set takes one override over.
func (t *Topic) set(name, value string) error {
	d, ok := topicNames[name]
	if !ok {
		if _, known := unservedTopic[name]; known {
			return nil
		}
		return unknown(name, allTopicNames())
	}
	if err := d.setTopic(t, value); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// check validates what one row alone cannot.
func (t *Topic) check() error {
	if t.GzipLevel == 0 {
		return errors.New("compression.gzip.level: 0 would store without compression; use compression.type=uncompressed")
	}
	return t.Compaction.check()
}

func (b *Broker) setDynamic(name, value string) error {
	entry, ok := names[name]
	if !ok {
		return unknown(name, brokerNames())
	}
	if !entry.def.Dynamic {
		return fmt.Errorf("%s cannot change while the broker runs", name)
	}
	value, err := entry.scale(value)
	if err == nil {
		err = entry.def.set(b, value)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	b.origins[entry.def.Name] = Origin{Source: SourceDynamic, Name: name}
	return nil
}

// errorList collects what is wrong, so that people see all of it at once.
type errorList struct{ list []error }

func (l *errorList) add(err error) {
	if err != nil {
		l.list = append(l.list, err)
	}
}

func (l *errorList) empty() bool { return len(l.list) == 0 }

func (l *errorList) err() error { return errors.Join(l.list...) }
