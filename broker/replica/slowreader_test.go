package replica

import (
	"testing"

	"tidemark/internal/vfs"
)

// TestSlowReaderHoldsUpNoDeletion: a topic is deleted and made again while a consumer
// has not taken its response yet: the controller waits for the call.
func TestSlowReaderHoldsUpNoDeletion(t *testing.T) {
	h := newHost(t, vfs.NewMem(), "/a")
	h.open()
	defer h.close()
	h.lead("t", 1, 1)
	h.append("t", 0, "x")
	chunk, _, err := h.Partition("t", 0).Read(ReadRequest{MaxBytes: 1000, LeaderEpoch: AnyEpoch})
	if err != nil || chunk == nil {
		t.Fatalf("read: %v, %v", chunk, err)
	}
	defer chunk.Release()
	if err := h.Stop([]ID{{Topic: "t"}}, true); err != nil {
		t.Fatal(err)
	}
	h.lead("t", 2, 1)
	h.append("t", 0, "y")
	if got := h.Partition("t", 0).LogEndOffset(); got != 1 {
		t.Errorf("the new topic ends at %d, want 1: it has one record", got)
	}
}
