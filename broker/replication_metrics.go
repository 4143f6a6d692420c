package broker

import (
	"github.com/prometheus/client_golang/prometheus"

	"tidemark/replication"
)

// replicationMetrics collects what Kafka's ReplicaManager, Partition and
// KafkaController tell, in Prometheus's spelling, when it is asked for.
type replicationMetrics struct{ broker *Broker }

func plainDesc(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, nil) }

var (
	replicaCount    = plainDesc("tidemark_replicas", "Replicas on this broker.")
	leaderCount     = plainDesc("tidemark_leaders", "Partitions that this broker leads.")
	underReplicated = plainDesc("tidemark_under_replicated_partitions", "Led partitions with fewer in-sync replicas than assigned ones.")
	underMinISR     = plainDesc("tidemark_under_min_isr_partitions", "Led partitions that refuse acks=all for want of in-sync replicas.")
	offlineReplicas = plainDesc("tidemark_offline_replicas", "Replicas whose log directory failed.")
	largestLag      = plainDesc("tidemark_max_follower_lag_records", "Records that the follower farthest behind lacks, over the led partitions.")
	isrShrinks      = plainDesc("tidemark_isr_shrinks_total", "In-sync sets that became smaller, of led partitions.")
	isrExpands      = plainDesc("tidemark_isr_expands_total", "In-sync sets that became larger, of led partitions.")
	inOffice        = plainDesc("tidemark_active_controller", "1 on the broker that is the controller.")
)

// Describe implements prometheus.Collector.
func (replicationMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{replicaCount, leaderCount, underReplicated, underMinISR, offlineReplicas, largestLag, isrShrinks, isrExpands, inOffice} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (m replicationMetrics) Collect(to chan<- prometheus.Metric) {
	var leaders, under, underMin, offline, lag int64
	statuses := m.broker.replicas.Statuses()
	for i := range statuses {
		s := &statuses[i]
		if s.Offline {
			offline++
		}
		if s.Role != replication.Leader {
			continue
		}
		leaders++
		if len(s.ISR) < len(s.Replicas) {
			under++
		}
		if !s.Admits {
			underMin++
		}
		for _, f := range s.Followers {
			lag = max(lag, f.Lag)
		}
	}
	gauge := func(d *prometheus.Desc, v int64) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v))
	}
	gauge(replicaCount, int64(len(statuses)))
	gauge(leaderCount, leaders)
	gauge(underReplicated, under)
	gauge(underMinISR, underMin)
	gauge(offlineReplicas, offline)
	gauge(largestLag, lag)
	var office int64
	if m.broker.controller.IsController() {
		office = 1
	}
	gauge(inOffice, office)
	counts := m.broker.replicas.Counters()
	to <- prometheus.MustNewConstMetric(isrShrinks, prometheus.CounterValue, float64(counts.ISRShrinks))
	to <- prometheus.MustNewConstMetric(isrExpands, prometheus.CounterValue, float64(counts.ISRExpands))
}
