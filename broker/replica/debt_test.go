package replica

import (
	"sync/atomic"
	"testing"

	"tidemark/commitlog"
	"tidemark/internal/vfs"
)

// TestDurabilityDebt: what is acknowledged and not synced is owed, no more and no
// less; a sync pays, and so does the deletion of the records.
func TestDurabilityDebt(t *testing.T) {
	h := newHost(t, vfs.NewMem(), "/data")
	h.open()
	h.lead("t", 1, 2)
	p := h.Partition("t", 0)
	want := func(what string, debt int64) {
		t.Helper()
		if got := p.DurabilityDebt(); got != debt {
			t.Errorf("%s: the debt is %d, want %d", what, got, debt)
		}
	}
	acknowledge := func(values ...string) {
		t.Helper()
		info, _, err := p.Append(testBatch(values...), 1, commitlog.Client)
		if err != nil {
			t.Fatal(err)
		}
		p.NoteAcknowledged(info.LastOffset)
	}
	want("nothing was written", 0)
	h.append("t", 0, "nobody", "was", "told")
	want("acks=0", 0)
	acknowledge("a", "b")
	want("acknowledged up to 5, with what came before", 5)
	p.NoteAcknowledged(1)
	want("an older batch acknowledged late", 5)
	if err := p.log.Flush(); err != nil {
		t.Fatal(err)
	}
	want("synced", 0)
	acknowledge("c", "d", "e")
	want("three more", 3)
	if err := p.log.AdvanceLogStart(7); err != nil {
		t.Fatal(err)
	}
	want("two of them deleted", 1)
	if other := h.Partition("t", 1).DurabilityDebt(); other != 0 {
		t.Errorf("the other partition owes %d", other)
	}
	h.close()
}

// TestAckCell: with a cell of somebody else's, that is where the end goes; a topic
// made anew gets a new one.
func TestAckCell(t *testing.T) {
	cells := map[string][]*atomic.Uint64{}
	h := newHost(t, vfs.NewMem(), "/data")
	h.o.AckCell = func(dir string) (*atomic.Uint64, error) {
		c := new(atomic.Uint64)
		cells[dir] = append(cells[dir], c)
		return c, nil
	}
	h.open()
	h.lead("t", 1, 1)
	h.append("t", 0, "a", "b")
	h.Partition("t", 0).NoteAcknowledged(1)
	if list := cells["/data/t-0"]; len(list) != 1 || list[0].Load() != 2 {
		t.Fatalf("cells %v, want one that says 2", list)
	}
	h.lead("t", 2, 1) // Another topic of that name.
	if debt := h.Partition("t", 0).DurabilityDebt(); debt != 0 || len(cells["/data/t-0"]) != 2 {
		t.Errorf("the new topic owes %d, cells %v", debt, cells["/data/t-0"])
	}
	h.close()
}
