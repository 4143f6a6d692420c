package main

import (
	"fmt"
	"regexp"
	"strings"
)

// A log may be cut anywhere, and of a cut log the end is what is left: these bound what
// is printed.
const (
	firstLines, lastLines = 15, 25 // of a test's output
	lineBytes             = 400
	fullTests             = 10 // with their output; others only in short
	shortLines            = 5  // of a test, in short
	shortBytes            = 200
	shortTests            = 30
)

// report is the text for the end of a log; empty if nothing failed.
func report(all []failure) string {
	if len(all) == 0 {
		return ""
	}
	var out strings.Builder
	for i, f := range all {
		if i == fullTests {
			fmt.Fprintf(&out, "=== and %d more, whose output is above\n", len(all)-i)
			break
		}
		fmt.Fprintf(&out, "=== failed: %s\n", f.name())
		for _, line := range excerpt(f.Lines) {
			fmt.Fprintln(&out, clip(line, lineBytes))
		}
	}
	fmt.Fprintln(&out, "=== failures in short")
	for i, f := range all {
		if i == shortTests {
			fmt.Fprintf(&out, "and %d more\n", len(all)-i)
			break
		}
		fmt.Fprintln(&out, f.name())
		for _, line := range reasons(f.Lines) {
			fmt.Fprintln(&out, "    "+clip(strings.TrimSpace(line), shortBytes))
		}
	}
	return out.String()
}

func (f failure) name() string {
	name := f.Part + ": " + strings.TrimPrefix(f.Package, "tidemark/")
	if f.Test != "" {
		name += " " + f.Test
	}
	if f.Unended {
		name += " (had not ended)"
	}
	return name
}

// excerpt is the beginning and the end of an output.
func excerpt(lines []string) []string {
	left := len(lines) - firstLines - lastLines
	if left <= 1 {
		return lines
	}
	short := append([]string(nil), lines[:firstLines]...)
	short = append(short, fmt.Sprintf("    [%d lines]", left))
	return append(short, lines[len(lines)-lastLines:]...)
}

// telling matches the lines of t.Log, t.Error and t.Fatal, and what a crash begins with.
var telling = regexp.MustCompile(`^\s*[\w/]+\.go:\d+: |^panic: |^fatal error: |^WARNING: DATA RACE|^[\w/.]+\.go:\d+:\d+: `)

// reasons are the lines that tell most: the first telling ones, of too many also the
// last, and where none tells the last lines. One that ends with a colon only announces
// what is not among them.
func reasons(lines []string) (told []string) {
	for _, line := range lines {
		if telling.MatchString(line) && !strings.HasSuffix(line, ":") {
			told = append(told, line)
		}
	}
	switch {
	case len(told) == 0:
		return lines[max(0, len(lines)-shortLines):]
	case len(told) > shortLines:
		return append(told[:shortLines-1:shortLines-1], told[len(told)-1])
	default:
		return told
	}
}

func clip(line string, most int) string {
	if len(line) <= most {
		return line
	}
	return strings.ToValidUTF8(line[:most], "") + "…"
}
