package broker

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"tidemark/broker/replica"
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
	total := d.broker.eachDebt(func(p *replica.Partition, debt int64) {
		to <- prometheus.MustNewConstMetric(partitionDebt, prometheus.GaugeValue, float64(debt), p.Topic.Name, strconv.Itoa(int(p.Index)))
	})
	to <- prometheus.MustNewConstMetric(totalDebt, prometheus.GaugeValue, float64(total))
}

// durabilityDebt is the sum over all partitions, in records.
func (b *Broker) durabilityDebt() int64 { return b.eachDebt(func(*replica.Partition, int64) {}) }

func (b *Broker) eachDebt(see func(p *replica.Partition, debt int64)) (total int64) {
	for _, t := range b.replicas.Topics() {
		for _, p := range t.Partitions() {
			debt := p.DurabilityDebt()
			see(p, debt)
			total += debt
		}
	}
	return total
}
