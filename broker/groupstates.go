package broker

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tidemark/broker/groups"
)

// groupStates is the metric of how many groups are in which state.
type groupStates struct{ groups *groups.Coordinator }

var groupStateDesc = prometheus.NewDesc("tidemark_groups", "Consumer groups that this broker coordinates, by state.", []string{"state"}, nil)

// scrapeTimeout bounds how long a scrape waits for coordinators.
const scrapeTimeout = time.Second

// groupStateNames are Kafka's, so that a state without groups shows too.
var groupStateNames = []string{"Empty", "PreparingRebalance", "CompletingRebalance", "Stable"}

// Describe implements prometheus.Collector.
func (g groupStates) Describe(to chan<- *prometheus.Desc) { to <- groupStateDesc }

// Collect implements prometheus.Collector.
func (g groupStates) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	states := g.groups.States(ctx)
	for _, name := range groupStateNames {
		states[name] += 0
	}
	for name, count := range states {
		to <- prometheus.MustNewConstMetric(groupStateDesc, prometheus.GaugeValue, float64(count), name)
	}
}
