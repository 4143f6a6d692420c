package replica

import (
	"bytes"
	"testing"
	"time"

	"tidemark/commitlog"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

// TestConsumersSkipWhatHasNoRecords: of a compacted log a consumer gets records in every
// response, though whole segments have none left; a replica gets every batch, as the
// emptied ones hold what producers sent last.
func TestConsumersSkipWhatHasNoRecords(t *testing.T) {
	h := cleaningHost(t, vfs.NewMem(), "/a")
	h.compact("t", func(*commitlog.Compaction) {})
	h.open()
	defer h.close()
	h.lead("t", 1, 1)
	h.fill("t", 40)
	h.clock.Advance(time.Second)
	p := h.Partition("t", 0)
	read := func(offset int64, i Isolation) (first record.Batch, next int64, records int32) {
		t.Helper()
		chunk, _, err := p.Read(ReadRequest{Offset: offset, MaxBytes: 10_000, LeaderEpoch: AnyEpoch, Isolation: i, WholeBatch: true})
		if err != nil || chunk == nil {
			t.Fatalf("read %d: %v, %v", offset, chunk, err)
		}
		defer chunk.Release()
		var data bytes.Buffer
		if _, err := chunk.WriteTo(&data); err != nil {
			t.Fatal(err)
		}
		for rest := data.Bytes(); len(rest) > 0; {
			b, after, err := record.Parse(rest)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = b
			}
			next, records, rest = b.NextOffset(), records+b.Count(), after
		}
		return first, next, records
	}
	if _, next, records := read(0, ReadAll); records != 0 || next == p.LogEndOffset() {
		t.Fatalf("a replica got %d records up to %d: the first segment should have none left", records, next)
	}
	for offset := int64(0); offset < p.HighWatermark(); {
		first, next, records := read(offset, ReadUncommitted)
		if records == 0 {
			t.Errorf("a consumer at %d got no record, but batches from %d on", offset, first.BaseOffset())
		}
		offset = next
	}
}
