package reports_test

import (
	"strings"
	"testing"

	"tidemark/reports/page"
)

// offsets adds an experiment of three brokers, in which another place for offsets takes
// less of the brokers' processor time and, where store is above 0, so much of the
// metadata store's, in core-seconds per million records.
func (s *sample) offsets(store float64) {
	first := len(s.runs)
	s.burst("replicated", 100, 1e5, []cellSpec{{}, {axis: "broker.offsets.storage", value: "zookeeper", cost: 0.8}})
	e := &s.plan.Experiments[len(s.plan.Experiments)-1]
	for i := range e.Cells {
		e.Cells[i].Config["brokers"] = "3"
	}
	for i := range s.runs[first:] {
		w := s.runs[first+i].Produce
		if ns := int64(store * float64(w.Acked) * 1e3); store > 0 && s.runs[first+i].Base {
			w.CPU.StoreNs = new(int64)
		} else if store > 0 {
			w.CPU.StoreNs = &ns
		}
	}
}

// costLine is what the conclusion says of processor time.
func costLine(t *testing.T, r *page.Report) page.Statement {
	t.Helper()
	for _, c := range r.Sections[0].Conclusion {
		if strings.Contains(c.Subject, "CPU") {
			return c
		}
	}
	t.Fatalf("no word on processor time in %+v", r.Sections[0].Conclusion)
	return page.Statement{}
}

// TestProcessorTimeOfAClusterHoldsItsStore: what a cell saves its brokers and asks of
// their metadata store is counted, and the report says so.
func TestProcessorTimeOfAClusterHoldsItsStore(t *testing.T) {
	s := newSample(t, 5, "eeeeee", 6)
	s.offsets(0.5)
	r := load(t, s.write())
	if c := costLine(t, r); !strings.HasPrefix(c.Text, "Dearer") || !strings.HasPrefix(c.Subject, "CPU per record of all brokers and their metadata store,") {
		t.Errorf("%s: %s", c.Subject, c.Text)
	}
	if notes := strings.Join(panel(t, r, "cpu").Notes, " "); !strings.Contains(notes, "in replicated, of all brokers and their metadata store") {
		t.Errorf("the panel of processor time does not say whose it is: %s", notes)
	}
}

// TestProcessorTimeWithoutTheStore: a folder whose runs do not hold the store's processor
// time makes no claim without that word, in the same line.
func TestProcessorTimeWithoutTheStore(t *testing.T) {
	s := newSample(t, 5, "ffffff", 6)
	s.offsets(0)
	r := load(t, s.write())
	if c := costLine(t, r); !strings.HasPrefix(c.Text, "Cheaper") || !strings.HasPrefix(c.Subject, "CPU per record of all brokers without their metadata store,") {
		t.Errorf("%s: %s", c.Subject, c.Text)
	}
	said := ""
	for _, c := range r.Sections[0].Conclusion {
		said += c.Text + "\n"
	}
	if !strings.Contains(said, "Processor time in replicated leaves out the metadata store") {
		t.Errorf("nothing bounds the claim: %s", said)
	}
}
