//go:build planted

package scene_test

import (
	"testing"

	"tidemark/internal/planted"
)

// TestRandomStoriesFindFlaws: what a few hundred random lines can reach, they
// find; the other flaws take the simulator.
func TestRandomStoriesFindFlaws(t *testing.T) {
	t.Cleanup(func() { planted.Plant("") })
	for _, flaw := range []planted.Flaw{
		planted.TruncateToHighWatermark, planted.FetchWithoutEpoch, planted.SameLeaderNoTruncation, planted.AckBeforeAppend,
		planted.HighWatermarkBeforeTruncation, planted.SilentDegrade,
	} {
		planted.Plant(flaw)
		if seed, _, acked := firstLoss(500); seed == 0 {
			t.Errorf("%s: nothing lost in 500 stories with %d acknowledgements", flaw, acked)
		}
	}
}
