package load

import (
	"testing"
	"time"

	"tidemark/bench/driver"
	"tidemark/bench/schedule"
)

// busy is a probe of a cluster whose processes have used more at every reading.
type busy struct {
	still
	readings *int64
}

func (b busy) at(ms int64) Usage { return Usage{UserNs: *b.readings * ms * 1e6, SysNs: 1e6} }

func (b busy) Broker() Usage { *b.readings++; return b.at(5) }
func (b busy) Store() Usage  { return b.at(3) }
func (b busy) Mesh() Usage   { return b.at(100) }

// TestAClusterCostsItsStoreToo: the metadata store is part of what a target takes, the
// mesh is not, and where no store is known none is told.
func TestAClusterCostsItsStoreToo(t *testing.T) {
	window := func(p Probe) *Outcome {
		w, now := &sampling{}, schedule.Now()
		s := newSpan(0, time.Second, time.Second, 1)
		s.open(now)
		s.close(now + int64(time.Second))
		for i := range 2 {
			w.one(p)
			w.samples[i].at = now + int64(i)*int64(time.Second)
		}
		return assemble(s, nil, w, driver.Unit{}, time.Now(), Options{})
	}
	cpu := window(busy{readings: new(int64)}).Window.CPU
	if cpu.BrokerNs() != 5e6 || cpu.StoreNs == nil || *cpu.StoreNs != 3e6 || cpu.TargetNs() != 8e6 {
		t.Errorf("brokers %d, store %v, target %d ns: want 5, 3 and 8 ms", cpu.BrokerNs(), cpu.StoreNs, cpu.TargetNs())
	}
	if cpu := window(still{}).Window.CPU; cpu.StoreNs != nil {
		t.Errorf("a store of %d ns where there is none", *cpu.StoreNs)
	}
}
