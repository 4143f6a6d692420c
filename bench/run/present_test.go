package run

import (
	"testing"
	"time"

	"tidemark/bench/workload"
)

func TestPresentBytes(t *testing.T) {
	const available = 8 << 30
	for name, c := range map[string]struct {
		change    func(*workload.Load)
		available int64
		want      int64
	}{
		"what a run writes":    {func(*workload.Load) {}, available, 64 << 20},
		"of all copies":        {func(l *workload.Load) { l.Replicas = 3 }, available, 3 * 50e6},
		"bounded":              {func(l *workload.Load) { l.Bytes, l.Window = 100<<30, time.Minute }, available, mostPresent},
		"a quarter":            {func(*workload.Load) {}, 64 << 20, 16 << 20},
		"not asked for":        {func(l *workload.Load) { l.MemoryPresent = false }, available, 0},
		"past the page cache":  {func(l *workload.Load) { l.Topic["storage.append.engine"] = "direct" }, available, 0},
		"no broker of its own": {func(l *workload.Load) { l.Target = "memory" }, available, 0},
	} {
		l := workload.Load{Target: "process", Window: 100 * time.Millisecond, Bytes: 64 << 20, RecordBytes: 100,
			MemoryPresent: true, Topic: map[string]string{}}
		c.change(&l)
		if got := presentBytes(l, c.available); got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, got, c.want)
		}
	}
	present(0)
	present(16 << 20)
}
