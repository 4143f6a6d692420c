package page

import (
	"strings"
	"testing"

	"tidemark/bench/result"
	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

// TestHalfChart: a picture is half as wide as the page only where the names of its cells
// leave room for the data.
func TestHalfChart(t *testing.T) {
	for name, half := range map[string]bool{"mapped": true, "batch.size=16KiB storage.append.engine=mapped storage.prefault=false": false} {
		e := &dataset.Experiment{}
		e.Name = "batches"
		for i, label := range []string{"base", name} {
			c := &dataset.Cell{Kind: result.Burst, PlanCell: result.PlanCell{ID: label, Label: label, Base: i == 0}}
			c.Usable = []result.Run{{Produce: &result.Window{Acked: 1e6, AckedPerS: 1e6, CPU: result.CPU{BrokerUserNs: 1e8}}}}
			e.Cells = append(e.Cells, c)
		}
		e.Base = e.Cells[0]
		fig := halfChart(e, dataset.ProduceCost, "produce: core-seconds per million records", chart.Plain)
		if fig.Half != half || fig.Error != "" || !strings.HasPrefix(fig.Heading, "batches, produce") {
			t.Errorf("%s: half %v under %q (%s), want %v", name, fig.Half, fig.Heading, fig.Error, half)
		}
	}
}
