package config

import (
	"fmt"
	"os"
	"strings"

	"github.com/magiconair/properties"
)

// Load reads an optional server.properties and settings of the form name=value
// that override it.
func Load(path string, overrides []string) (*Broker, error) {
	var settings []Setting
	if path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read configuration: %w", err)
		}
		if settings, err = ReadProperties(path, string(text)); err != nil {
			return nil, err
		}
	}
	var errs errorList
	for _, text := range overrides {
		name, value, found := strings.Cut(text, "=")
		if !found {
			errs.add(fmt.Errorf("--set %s: want name=value", text))
			continue
		}
		settings = append(settings, Setting{strings.TrimSpace(name), value, Origin{Source: SourceFlag}})
	}
	if !errs.empty() {
		return nil, errs.err()
	}
	return ParseSettings(settings)
}

// ReadProperties reads Java properties text and notes where each setting is
// made. File names the text in messages.
func ReadProperties(file, text string) ([]Setting, error) {
	loader := properties.Loader{Encoding: properties.UTF8, DisableExpansion: true}
	var settings []Setting
	for _, l := range logicalLines(text) {
		// One entry at a time, so that the library's reading of escapes and
		// separators comes with the place that it does not tell.
		p, err := loader.LoadBytes([]byte(l.text))
		if err != nil {
			return nil, fmt.Errorf("%s:%d:%d: %w", file, l.number, l.column, err)
		}
		for _, name := range p.Keys() {
			value, _ := p.Get(name)
			origin := Origin{Source: SourceFile, File: file, Line: l.number, Column: l.column}
			settings = append(settings, Setting{name, strings.TrimSpace(value), origin})
		}
	}
	return settings, nil
}

// logicalLine is an entry with its continuation lines.
type logicalLine struct {
	text           string
	number, column int
}

// logicalLines splits text as the properties format does: comments and blank
// lines are dropped, a line with an odd number of backslashes at its end goes
// on in the next.
func logicalLines(text string) []logicalLine {
	var lines []logicalLine
	continued := false
	for i, raw := range strings.Split(text, "\n") {
		raw = strings.TrimSuffix(raw, "\r")
		body := strings.TrimLeft(raw, " \t\f")
		if continued {
			last := &lines[len(lines)-1]
			last.text += "\n" + raw
			continued = goesOn(raw)
			continue
		}
		if body == "" || body[0] == '#' || body[0] == '!' {
			continue
		}
		lines = append(lines, logicalLine{body, i + 1, len(raw) - len(body) + 1})
		continued = goesOn(raw)
	}
	return lines
}

func goesOn(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}
