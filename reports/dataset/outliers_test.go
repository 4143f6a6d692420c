package dataset

import (
	"testing"

	"tidemark/bench/result"
)

// TestOutliers: one run far from the others is named with its block, and a wide or a
// small sample has none.
func TestOutliers(t *testing.T) {
	cell := func(rates ...int64) *Cell {
		c := &Cell{}
		for i, r := range rates {
			c.Usable = append(c.Usable, result.Run{Block: i, Produce: &result.Window{AckedPerS: r}})
		}
		return c
	}
	for _, c := range []struct {
		name  string
		cell  *Cell
		block int // −1 for none
	}{
		{"one of six", cell(97, 1770, 91, 100, 93, 98), 1},
		{"one low of six", cell(355, 383, 380, 352, 371, 154), 5},
		{"spread", cell(10, 20, 30, 40, 50, 60), -1},
		{"all alike", cell(7, 7, 7, 7, 7, 7), -1},
		{"nearly alike", cell(1000, 1001, 1000, 1001, 1000, 1050), -1},
		{"few", cell(1, 1, 1, 90), -1},
	} {
		got := c.cell.Outliers(Produce)
		if c.block < 0 && len(got) > 0 || c.block >= 0 && (len(got) != 1 || got[0].Block != c.block) {
			t.Errorf("%s: outliers %v, want block %d alone", c.name, got, c.block)
		}
	}
}
