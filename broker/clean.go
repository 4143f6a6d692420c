package broker

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"tidemark/broker/config"
	"tidemark/broker/replica"
)

// cleanerOptions translates log.cleaner.*.
func cleanerOptions(c config.Cleaner) replica.CleanerOptions {
	if !c.Enabled {
		return replica.CleanerOptions{}
	}
	return replica.CleanerOptions{
		Threads: int(c.Threads), DedupeBytes: c.DedupeBytes, Load: c.Load, BufferBytes: int(c.BufferBytes),
		BytesPerSecond: c.BytesPerSecond, Backoff: c.Backoff,
	}
}

// memoryBudget is what requests in flight and compaction may hold.
func memoryBudget(c *config.Broker) int64 {
	budget := c.QueuedRequestBytes
	if compaction := c.Cleaner.DedupeBytes; c.Cleaner.Enabled && budget < math.MaxInt64-compaction {
		budget += compaction
	}
	return budget
}

// watchCleaner adds the metrics of compaction, with the names of Kafka's LogCleaner
// and LogCleanerManager in Prometheus's spelling.
func (t *telemetry) watchCleaner(m *replica.Manager, dirs []string) {
	gauge := func(name, help string, labels prometheus.Labels, value func(replica.CleanerStats) float64) {
		t.gauge(name, help, labels, func() float64 { return value(m.CleanerStats()) })
	}
	gauge("tidemark_cleaner_max_dirty_percent", "Dirty part of the dirtiest compacted log.", nil,
		func(s replica.CleanerStats) float64 { return 100 * s.MaxDirtyRatio })
	gauge("tidemark_cleaner_time_since_last_run_seconds", "Time since a thread looked for a log to compact.", nil,
		func(s replica.CleanerStats) float64 { return s.SinceLastRun.Seconds() })
	gauge("tidemark_cleaner_max_buffer_utilization_percent", "Part of the memory for keys that the last rounds took.", nil,
		func(s replica.CleanerStats) float64 { return 100 * s.MaxFill })
	gauge("tidemark_cleaner_recopy_percent", "Part of the bytes read in the last rounds that was written again.", nil,
		func(s replica.CleanerStats) float64 { return 100 * s.Recopied })
	gauge("tidemark_cleaner_max_clean_time_seconds", "Duration of the longest of the last rounds.", nil,
		func(s replica.CleanerStats) float64 { return s.MaxSeconds })
	gauge("tidemark_cleaner_max_compaction_delay_seconds", "How long a log of the last rounds was overdue by max.compaction.lag.ms.", nil,
		func(s replica.CleanerStats) float64 { return s.MaxOverdueSeconds })
	for i, dir := range dirs {
		of := func(value func(replica.CleanerDirStats) int64) func(replica.CleanerStats) float64 {
			return func(s replica.CleanerStats) float64 {
				if i >= len(s.Dirs) {
					return 0 // Not open, or closed again.
				}
				return float64(value(s.Dirs[i]))
			}
		}
		labels := prometheus.Labels{"log_dir": dir}
		gauge("tidemark_cleaner_uncleanable_partitions", "Partitions that cannot be compacted for an error.", labels,
			of(func(d replica.CleanerDirStats) int64 { return d.Uncleanable }))
		gauge("tidemark_cleaner_uncleanable_bytes", "Dirty bytes of those partitions.", labels,
			of(func(d replica.CleanerDirStats) int64 { return d.UncleanableBytes }))
	}
}
