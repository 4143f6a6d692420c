package page

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/bench/result"
	"tidemark/reports/dataset"
)

// floorRange writes a floor as the changes between which nothing is claimed: a factor of
// 1.43 is −30 % to +43 %, and no ± of either.
func floorRange(factor float64) string {
	said := changes(result.Interval{Median: 1, Low: 1 / factor, High: factor})
	if said == signed(1) {
		return "less than ±0.1" + nbsp + "%"
	}
	return said
}

// kinds are the ways to run in the order in which a report speaks of them.
var kinds = []struct {
	kind result.Kind
	name string
}{{result.Burst, "burst cells"}, {result.Sustained, "sustained cells"}, {result.Paced, "cells at a fixed rate"}}

// widest is the highest floor of a figure among experiments of a kind; 0 where none was
// taken.
func (v *view) widest(k result.Kind, m dataset.Metric) (factor float64) {
	for _, n := range v.Noise(m) {
		if n.Kind == k {
			factor = max(factor, n.Floor)
		}
	}
	return factor
}

// floorWords say of each kind of cells what the same configuration differed by, figure
// by figure; empty where none ran under two names.
func (v *view) floorWords() string {
	var out []string
	for _, k := range kinds {
		var figures []string
		for _, s := range judgedBy(k.kind) {
			if f := v.widest(k.kind, s.m); f > 0 {
				figures = append(figures, s.noun+" "+floorRange(f))
			}
		}
		if len(figures) > 0 {
			out = append(out, k.name+": "+list(figures))
		}
	}
	return strings.Join(out, "; ")
}

// unfloored are the kinds of cells in this invocation of which no floor was taken.
func (v *view) unfloored() []string {
	var out []string
	for _, k := range kinds {
		ran := slices.ContainsFunc(v.Experiments, func(e *dataset.Experiment) bool { return e.Kind == k.kind && len(e.Cells) > 1 })
		has := slices.ContainsFunc(judgedBy(k.kind), func(s subject) bool { return v.widest(k.kind, s.m) > 0 })
		if ran && !has {
			out = append(out, k.name)
		}
	}
	return out
}

// floorRule is the part of a verdict's definition that the noise floor is.
func (v *view) floorRule() string {
	said := v.floorWords()
	if said == "" {
		return "No configuration ran under two names, so no noise floor was taken and verdicts rest on interval and correction alone."
	}
	said = "The noise floor is the further end of the 95" + nbsp + "% interval by which a base cell differed from itself, run again under a second name (A/A), of the same figure: its own experiment's, or else the highest of cells that ran in the same way. Here " + said + "."
	if none := v.unfloored(); len(none) > 0 {
		said += fmt.Sprintf(" %s have none; their verdicts rest on interval and correction alone.", capital(list(none)))
	}
	return said
}

// floorTable holds every floor with the interval that it comes from.
func (v *view) floorTable() Table {
	t := Table{Name: "noise floors", Columns: []Column{
		text("experiment"), text("figure"), num("again ÷ base", "paired, per block"), num("low", ""), num("high", ""), num("n", "blocks"), text("nothing is claimed within"),
	}}
	for _, k := range kinds {
		for _, s := range judgedBy(k.kind) {
			t.Rows = append(t.Rows, v.floorRows(k.kind, s)...)
		}
	}
	return t
}

func (v *view) floorRows(k result.Kind, s subject) []Line {
	var t Table
	for _, n := range v.Noise(s.m) {
		if n.Kind == k {
			t.add("", word(n.Experiment), word(s.noun), ratio(n.Ratio.Median), ratio(n.Ratio.Low), ratio(n.Ratio.High), number(float64(n.Ratio.N), fmt.Sprint(n.Ratio.N)), word(floorRange(n.Floor)))
		}
	}
	return t.Rows
}

// floorTile is the headline's word on the noise: that of producing, or of the first
// figure that has one.
func (v *view) floorTile() Tile {
	for _, k := range kinds {
		for _, s := range judgedBy(k.kind) {
			if f := v.widest(k.kind, s.m); f > 0 {
				return Tile{Name: "noise floor", Value: floorRange(f), Small: fmt.Sprintf("%s, %s: the same configuration under two names", s.noun, k.name)}
			}
		}
	}
	return Tile{Name: "noise floor", Value: "not measured", Small: "no configuration ran under two names"}
}
