package broker

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// debts collects the durability debt when it is asked for: two loads a
// partition, and nothing in between.
type debts struct{ broker *Broker }

var (
	partitionDebt = prometheus.NewDesc("tidemark_partition_durability_debt_records",
		"Records of a partition that were acknowledged and are not on stable storage: what a power cut could take.",
		[]string{"topic", "partition"}, nil)
	totalDebt = prometheus.NewDesc("tidemark_durability_debt_records",
		"Sum of tidemark_partition_durability_debt_records.", nil, nil)
)

// Describe implements prometheus.Collector.
func (d debts) Describe(to chan<- *prometheus.Desc) {
	to <- partitionDebt
	to <- totalDebt
}

// Collect implements prometheus.Collector.
func (d debts) Collect(to chan<- prometheus.Metric) {
	total := int64(0)
	for _, t := range d.broker.replicas.Topics() {
		for _, p := range t.Partitions() {
			debt := p.DurabilityDebt()
			total += debt
			to <- prometheus.MustNewConstMetric(partitionDebt, prometheus.GaugeValue, float64(debt), t.Name, strconv.Itoa(int(p.Index)))
		}
	}
	to <- prometheus.MustNewConstMetric(totalDebt, prometheus.GaugeValue, float64(total))
}
