package cluster

import (
	"testing"
	"time"

	"tidemark/internal/golden"
	"tidemark/internal/trace"
)

// TestFaultEvents: what is done to a cluster as events of its trace.
func TestFaultEvents(t *testing.T) {
	var out []byte
	for i, a := range []Action{
		{Do: "up"}, {Do: "kill", Broker: 2}, {Do: "restart", Broker: 2}, {Do: "pause", Broker: 1}, {Do: "resume", Broker: 1}, {Do: "power cut", Broker: 3},
		{Do: "cut", Links: []string{"1→2", "2→1"}, Rule: "hang", Seconds: 30}, {Do: "link", Links: []string{"3→client"}, Rule: "delay 5ms"}, {Do: "heal"}, {Do: "down"},
	} {
		if e, ok := faultEvent(a); ok {
			e.ID, e.At = trace.ID{Broker: trace.Outside, Seq: uint64(i)}, time.Duration(i)*time.Second
			out = append(trace.AppendText(out, &e), '\n')
		}
	}
	golden.Check(t, "testdata/faults.txt", string(out))
}
