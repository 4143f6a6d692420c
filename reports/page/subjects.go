package page

import (
	"slices"

	"tidemark/bench/result"
	"tidemark/reports/dataset"
)

// subject is a metric that conclusions are drawn on, and how a sentence speaks of it.
type subject struct {
	m    dataset.Metric
	noun string
}

var subjects = []subject{
	{dataset.Produce, "producing"},
	{dataset.Fetch, "fetching"},
	{dataset.P50, "p50 response time"},
	{dataset.P99, "p99 response time"},
	{dataset.E2EP99, "p99 end to end"},
	{dataset.ProduceCost, "broker CPU per record"},
}

// judgedBy are what cells of a kind can be judged by: at a fixed rate throughput is
// given, and no finding.
func judgedBy(k result.Kind) []subject {
	if k == result.Paced {
		return slices.DeleteFunc(slices.Clone(subjects), func(s subject) bool {
			return s.m.Name == result.MetricProduce || s.m.Name == result.MetricFetch
		})
	}
	return slices.Clone(subjects)
}

// subjectsOf are what an experiment can be judged by, in its own words.
func subjectsOf(e *dataset.Experiment) []subject {
	all := judgedBy(e.Kind)
	all[len(all)-1].noun = costNoun(e)
	return all
}
