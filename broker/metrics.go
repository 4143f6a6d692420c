package broker

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"tidemark/broker/network"
	"tidemark/broker/replica"
)

// gauge adds a number that is asked for when it is wanted.
func (t *telemetry) gauge(name, help string, labels prometheus.Labels, value func() float64) {
	t.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, value))
}

// watchLogs adds how far the opening of the logs is, which a start after an unclean
// stop may take its time for, and how many log directories have failed since.
func (t *telemetry) watchLogs(m *replica.Manager) {
	t.gauge("tidemark_offline_log_dirs", "Log directories that failed; their partitions are not served.", nil,
		func() float64 { return float64(m.OfflineDirs()) })
	gauge := func(name, help string, value func(replica.Recovery) float64) {
		t.gauge(name, help, nil, func() float64 { return value(m.Recovery()) })
	}
	gauge("tidemark_recovery_logs", "Logs on disk at start.", func(r replica.Recovery) float64 { return float64(r.Logs) })
	gauge("tidemark_recovery_logs_opened", "Logs opened since; the start ends when they are all.",
		func(r replica.Recovery) float64 { return float64(r.Opened) })
	gauge("tidemark_recovery_scanned_segments", "Segments past the recovery points, checked batch by batch at start.",
		func(r replica.Recovery) float64 { return float64(r.ScannedSegments) })
	gauge("tidemark_recovery_scanned_bytes", "Bytes of those segments.", func(r replica.Recovery) float64 { return float64(r.ScannedBytes) })
}

// watch adds what the network and the API server count.
func (t *telemetry) watch(b *Broker) {
	stats := b.server.Stats()
	gauge := func(name, help string, value func() float64) { t.gauge(name, help, nil, value) }
	counter := func(name, help string, labels prometheus.Labels, value *atomic.Int64) {
		t.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels},
			func() float64 { return float64(value.Load()) }))
	}
	of := func(v *atomic.Int64) func() float64 { return func() float64 { return float64(v.Load()) } }

	gauge("tidemark_connections", "Open client connections.", of(&stats.Connections))
	gauge("tidemark_muted_connections", "Connections not read from for want of in-flight memory.", of(&stats.Muted))
	gauge("tidemark_inflight_request_bytes", "Memory of requests being received or answered.", of(&stats.InFlightBytes))
	gauge("tidemark_parked_requests", "Requests that wait for records or replicas.", func() float64 { return float64(b.api.Parked()) })
	counter("tidemark_connections_accepted_total", "Client connections accepted.", nil, &stats.Accepted)
	counter("tidemark_accept_errors_total", "Failed accepts, as for want of file descriptors.", nil, &stats.AcceptErrors)
	counter("tidemark_received_bytes_total", "Bytes of requests.", nil, &stats.ReceivedBytes)
	counter("tidemark_sent_bytes_total", "Bytes of responses.", nil, &stats.SentBytes)
	counter("tidemark_sent_fallback_bytes_total", "Record bytes that a read engine copied in place of its own way of sending.", nil, &stats.FallbackBytes)
	t.registry.MustRegister(debts{b})
	t.registry.MustRegister(replicationMetrics{b})
	t.registry.MustRegister(groupStates{b.groups})
	counter("tidemark_produce_in_place_total", "Batches whose records were received where they lie in the log.", nil, b.api.InPlaceBatches())
	for i := range stats.Early {
		counter("tidemark_early_requests_total", "Long requests that were to be received in place, by what became of that.",
			prometheus.Labels{"outcome": network.EarlyOutcome(i).String()}, &stats.Early[i])
	}
	for i := range stats.Refused {
		counter("tidemark_connections_refused_total", "Client connections closed on arrival.",
			prometheus.Labels{"reason": network.Refusal(i).String()}, &stats.Refused[i])
	}
	for i := range stats.Closed {
		counter("tidemark_connections_closed_total", "Client connections closed.",
			prometheus.Labels{"reason": network.Reason(i).String()}, &stats.Closed[i])
	}
}
