package commitlog

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/protocol/record"
)

func TestAppendGivesOffsetsAndReadReturnsWholeBatches(t *testing.T) {
	w := newWorld(t).open()
	for i := range 10 {
		info := w.mustAppend(batch(10, testStart.UnixMilli()), 3)
		want := AppendInfo{BaseOffset: int64(10 * i), LastOffset: int64(10*i + 9), LogAppendTimeMs: -1, Rolled: info.Rolled, Bytes: info.Bytes}
		if diff := cmp.Diff(want, info); diff != "" {
			t.Errorf("append %d (-want +got):\n%s", i, diff)
		}
	}
	all := w.readAll(0)
	if len(all) != 10 || all[9].BaseOffset() != 90 || all[9].LeaderEpoch() != 3 {
		t.Fatalf("read %d batches, last %d of epoch %d, want 10, 90, 3", len(all), all[9].BaseOffset(), all[9].LeaderEpoch())
	}
	if n := len(w.view.segments); n < 3 {
		t.Errorf("%d segments, want some: the test must cross them", n)
	}
	data, _ := w.read(37, 1)
	if b, rest, err := record.Parse(data); err != nil || b.BaseOffset() != 30 || len(rest) != 0 {
		t.Errorf("read in mid batch: base %d, rest %d, %v, want the one batch 30, however small the limit", b.BaseOffset(), len(rest), err)
	}
}

func TestReadBounds(t *testing.T) {
	w := newWorld(t)
	w.o.SegmentBytes = 1 << 20
	w.open()
	var size int64
	for range 8 {
		size = w.mustAppend(batch(10, 1), 0).Bytes
	}
	cases := []struct {
		name            string
		offset, max     int64
		bound           int64
		minOne          bool
		wantBytes       int64
		wantPosition    int64
		wantErr         error
		wantEmptyReason string
	}{
		{name: "everything", max: 1 << 20, bound: 80, wantBytes: 8 * size},
		{name: "max on a boundary", max: 3 * size, bound: 80, wantBytes: 3 * size},
		{name: "max inside a batch", max: 3*size + 1, bound: 80, wantBytes: 3 * size},
		{name: "first batch over max", offset: 20, max: size - 1, bound: 80, minOne: true, wantBytes: size, wantPosition: 2 * size},
		{name: "first batch over max, not wanted", offset: 20, max: size - 1, bound: 80},
		{name: "bound on a boundary", max: 1 << 20, bound: 50, wantBytes: 5 * size},
		{name: "bound inside a batch", max: 1 << 20, bound: 55, wantBytes: 5 * size},
		{name: "bound before the first batch ends", offset: 50, max: 1 << 20, bound: 55, minOne: true},
		{name: "offset at the bound", offset: 50, max: 1 << 20, bound: 50, minOne: true},
		{name: "offset above the bound", offset: 60, max: 1 << 20, bound: 50, minOne: true},
		{name: "at the log end offset", offset: 80, max: 1 << 20, bound: math.MaxInt64, minOne: true},
		{name: "after the log end offset", offset: 81, max: 1 << 20, bound: math.MaxInt64, wantErr: ErrOffsetOutOfRange},
		{name: "before the log start offset", offset: -1, max: 1 << 20, bound: math.MaxInt64, wantErr: ErrOffsetOutOfRange},
		{name: "inside a batch", offset: 45, max: 2 * size, bound: 80, wantBytes: 2 * size, wantPosition: 4 * size},
	}
	for _, c := range cases {
		info, err := w.Read(c.offset, c.max, c.bound, c.minOne)
		if err != c.wantErr {
			t.Errorf("%s: error %v, want %v", c.name, err, c.wantErr)
		}
		if got := int64(len(drain(t, info.Chunk))); got != c.wantBytes || info.Bytes != got {
			t.Errorf("%s: %d bytes (says %d), want %d", c.name, got, info.Bytes, c.wantBytes)
		}
		if c.wantBytes > 0 && info.Position != c.wantPosition {
			t.Errorf("%s: position %d, want %d", c.name, info.Position, c.wantPosition)
		}
		if c.wantErr == nil && c.minOne {
			if got := w.Available(c.offset, c.bound, 1<<20); (got > 0) != (c.wantBytes > 0) && c.name != "bound before the first batch ends" {
				t.Errorf("%s: %d bytes available, a read returns %d", c.name, got, c.wantBytes)
			}
		}
	}
}

func TestAvailableCountsAcrossSegments(t *testing.T) {
	w := newWorld(t).open()
	for range 10 {
		w.mustAppend(batch(10, 1), 0)
	}
	size := w.Size() / 10
	for offset := int64(0); offset <= 100; offset += 10 {
		for bound := offset; bound <= 100; bound += 10 {
			if got, want := w.Available(offset, bound, 1<<30), (bound-offset)/10*size; got != want {
				t.Errorf("from %d to %d: %d bytes available, want %d", offset, bound, got, want)
			}
		}
	}
	if got := w.Available(0, 100, 7); got != 7 {
		t.Errorf("limited: %d bytes available, want 7", got)
	}
}

func TestIdempotentProducer(t *testing.T) {
	w := newWorld(t).open()
	for i := range int32(6) {
		w.mustAppend(idempotent(7, 1, 10*i, 10), 0)
	}
	retry := w.mustAppend(idempotent(7, 1, 20, 10), 0)
	if !retry.Duplicate || retry.BaseOffset != 20 || retry.LastOffset != 29 || w.LogEndOffset() != 60 {
		t.Errorf("retry of the fourth last batch: %+v with end %d, want duplicate at 20 to 29, end 60", retry, w.LogEndOffset())
	}
	for name, c := range map[string]struct {
		b    record.Batch
		want error
	}{
		"gap":                         {idempotent(7, 1, 61, 1), ErrOutOfOrderSequence},
		"older than five batches":     {idempotent(7, 1, 0, 10), ErrOutOfOrderSequence},
		"epoch that went back":        {idempotent(7, 0, 60, 1), ErrInvalidProducerEpoch},
		"new epoch in mid sequence":   {idempotent(7, 2, 60, 1), ErrOutOfOrderSequence},
		"part of an appended batch":   {idempotent(7, 1, 50, 5), ErrOutOfOrderSequence},
		"more than an appended batch": {idempotent(7, 1, 50, 11), ErrOutOfOrderSequence},
	} {
		if _, err := w.AppendAsLeader(c.b, 0, Client); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
	w.mustAppend(idempotent(7, 2, 0, 1), 0)
	w.mustAppend(idempotent(8, 0, 4711, 1), 0)
	if end := w.LogEndOffset(); end != 62 {
		t.Errorf("log end offset %d, want 62: refused batches leave nothing", end)
	}

	w.close()
	w.open()
	if info := w.mustAppend(idempotent(8, 0, 4711, 1), 0); !info.Duplicate || info.BaseOffset != 61 {
		t.Errorf("retry after a restart: %+v, want duplicate at 61", info)
	}
	w.clock.Advance(24 * time.Hour)
	if n := w.ExpireProducers(w.clock.Now()); n != 2 || len(w.Producers()) != 0 {
		t.Errorf("expired %d producers, %d left, want 2 and 0", n, len(w.Producers()))
	}
	w.mustAppend(idempotent(8, 0, 4720, 1), 0) // one that is not known may go on from anywhere
	if _, err := w.AppendAsLeader(idempotent(8, 0, 4722, 1), 0, Client); !errors.Is(err, ErrOutOfOrderSequence) {
		t.Errorf("a gap of a producer that came back: %v, want ErrOutOfOrderSequence", err)
	}
}

func TestLogAppendTime(t *testing.T) {
	w := newWorld(t)
	w.o.LogAppendTime = true
	w.open()
	now := testStart.UnixMilli()
	info := w.mustAppend(batch(3, 5), 0)
	if info.LogAppendTimeMs != now {
		t.Errorf("log append time %d, want %d", info.LogAppendTimeMs, now)
	}
	b := w.readAll(0)[0]
	if !b.IsLogAppendTime() || b.MaxTimestamp() != now {
		t.Errorf("stored log append time %v with %d, want true with %d", b.IsLogAppendTime(), b.MaxTimestamp(), now)
	}
	if got, ok, err := w.OffsetForTimestamp(now); err != nil || !ok || got != (TimestampOffset{now, 0}) {
		t.Errorf("offset for %d: %+v, %v, %v, want offset 0", now, got, ok, err)
	}
}

func TestWrongMaxTimestampIsCorrected(t *testing.T) {
	w := newWorld(t).open()
	b := batch(3, 100)
	b.SetMaxTimestamp(-1)
	w.mustAppend(b, 0)
	if got := w.readAll(0)[0].MaxTimestamp(); got != 102 {
		t.Errorf("stored maximum %d, want 102 as in the records: the time index hangs on it", got)
	}
}

func TestCompressionType(t *testing.T) {
	w := newWorld(t)
	w.o.Compression = record.Zstd
	w.open()
	w.mustAppend(batch(50, 100), 0)
	w.mustAppend(batchOf(record.Gzip, 5, 100), 0)
	w.mustAppend(batchOf(record.Zstd, 5, 100), 0)
	for _, b := range w.readAll(0) {
		if b.Codec() != record.Zstd {
			t.Errorf("batch %d stored with %v, want zstd", b.BaseOffset(), b.Codec())
		}
	}
}

func TestRefusals(t *testing.T) {
	w := newWorld(t)
	w.o.MaxMessageBytes = 2000
	w.open()
	bad := batch(3, 1)
	bad[len(bad)-1] ^= 1
	for name, c := range map[string]struct {
		b    record.Batch
		want error
	}{
		"checksum":              {bad, record.ErrCorrupt},
		"over max.message":      {batch(200, 1), record.ErrTooLarge},
		"larger than a segment": {batch(80, 1), ErrRecordListTooLarge},
		"control batch":         {record.EndTxnMarker{ProducerID: 1}.Batch(), record.ErrInvalidRecord},
	} {
		if _, err := w.AppendAsLeader(c.b, 0, Client); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
	if w.LogEndOffset() != 0 || w.Size() != 0 {
		t.Errorf("end %d, size %d after refusals, want 0 and 0", w.LogEndOffset(), w.Size())
	}
}

func TestLeaderEpochs(t *testing.T) {
	w := newWorld(t).open()
	w.mustAppend(batch(10, 1), 2)
	w.mustAppend(batch(10, 1), 2)
	w.mustAppend(batch(10, 1), 5)
	if err := w.AssignEpoch(7, 30); err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		t.Helper()
		for _, c := range []struct {
			epoch, found int32
			end          int64
		}{{0, 0, 0}, {2, 2, 20}, {3, 2, 20}, {5, 5, 30}, {7, 7, 30}, {8, -1, -1}} {
			if found, end := w.EndOffsetForEpoch(c.epoch); found != c.found || end != c.end {
				t.Errorf("%s: epoch %d ends (%d, %d), want (%d, %d)", when, c.epoch, found, end, c.found, c.end)
			}
		}
	}
	check("while open")
	if got := string(w.content("leader-epoch-checkpoint")); got != "0\n3\n2 0\n5 20\n7 30\n" {
		t.Errorf("checkpoint holds %q", got)
	}
	if err := w.AdvanceLogStart(25); err != nil {
		t.Fatal(err)
	}
	if found, end := w.EndOffsetForEpoch(2); found != 2 || end != 25 {
		t.Errorf("deleted epoch 2 ends (%d, %d), want (2, 25): the asker goes on there", found, end)
	}
	if err := w.TruncateTo(27); err != nil {
		t.Fatal(err)
	}
	if epoch, ok := w.LatestEpoch(); ok || w.LogEndOffset() != 25 {
		t.Errorf("latest epoch %d, %v with end %d, want none: batch 20 went, and with it everything after 25", epoch, ok, w.LogEndOffset())
	}
}

// TestAnEpochWithoutRecordsGoes: a leader that wrote nothing in its epoch follows
// one that never heard of it, and would be told for ever that it diverges.
func TestAnEpochWithoutRecordsGoes(t *testing.T) {
	w := newWorld(t).open()
	w.mustAppend(batch(10, 1), 2)
	if err := w.AssignEpoch(7, 10); err != nil {
		t.Fatal(err)
	}
	if err := w.TruncateTo(10); err != nil {
		t.Fatal(err)
	}
	if epoch, ok := w.LatestEpoch(); epoch != 2 || !ok || w.LogEndOffset() != 10 {
		t.Errorf("latest epoch %d, %v with end %d, want 2 with 10", epoch, ok, w.LogEndOffset())
	}
	if got := string(w.content("leader-epoch-checkpoint")); got != "0\n1\n2 0\n" {
		t.Errorf("checkpoint holds %q", got)
	}
}

func TestFollowerTakesTheLeadersBytes(t *testing.T) {
	leader, follower := newWorld(t).open(), newWorld(t)
	follower.open()
	for i := range 12 {
		leader.mustAppend(idempotent(9, 0, int32(5*i), 5), int32(i/4))
	}
	for follower.LogEndOffset() < leader.LogEndOffset() {
		data, _ := leader.read(follower.LogEndOffset(), 700)
		if _, err := follower.AppendAsFollower(append(data, data[:30]...)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(leader.readAll(0), follower.readAll(0)); diff != "" {
		t.Errorf("logs differ (-leader +follower):\n%s", diff)
	}
	if diff := cmp.Diff(leader.Epochs(), follower.Epochs()); diff != "" {
		t.Errorf("epochs differ (-leader +follower):\n%s", diff)
	}
	if diff := cmp.Diff(leader.Producers(), follower.Producers()); diff != "" {
		t.Errorf("producers differ (-leader +follower):\n%s", diff)
	}
	data, _ := leader.read(0, 700)
	if _, err := follower.AppendAsFollower(data); !errors.Is(err, ErrUnexpectedOffset) {
		t.Errorf("batches from before the end: error %v, want ErrUnexpectedOffset", err)
	}
	data[len(data)-1] ^= 1
	if _, err := follower.AppendAsFollower(data); !errors.Is(err, record.ErrCorrupt) {
		t.Errorf("damaged batches: error %v, want ErrCorrupt", err)
	}
}

func TestFollowerStepsOverGaps(t *testing.T) {
	w := newWorld(t).open()
	far := int64(1) << 40
	for _, base := range []int64{0, 100, far} {
		b := batch(10, 1)
		b.SetBaseOffset(base)
		if _, err := w.AppendAsFollower(b); err != nil {
			t.Fatal(err)
		}
	}
	var bases []int64
	for _, b := range w.readAll(50) {
		bases = append(bases, b.BaseOffset())
	}
	if diff := cmp.Diff([]int64{100, far}, bases); diff != "" || w.LogEndOffset() != far+10 {
		t.Errorf("end %d, batches (-want +got):\n%s", w.LogEndOffset(), diff)
	}
}
