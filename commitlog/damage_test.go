package commitlog

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"tidemark/protocol/record"
)

// TestDamageAfterCleanStop: after a clean stop no checksum is looked at, so a bit
// that flipped since is met by readers. What is no batch any more is named as
// corrupt; what still looks like one is served with the checksum that gives it away,
// to a consumer as to a follower, which takes nothing of it. Other batches are right.
func TestDamageAfterCleanStop(t *testing.T) {
	source, all := filled(t, 24)
	source.close()
	name := FileName(0, LogSuffix)
	whole := source.content(name)
	size := len(all[0])
	const batchLength, crc = 8, 17
	served, refused := 0, 0
	for bit := 8 * batchLength; bit < 8*size; bit += 3 {
		at := size + bit/8 // In the second batch.
		if bit/8 >= batchLength+4 && bit/8 < 16 {
			continue // The leader epoch has no checksum; nor has the base offset before it.
		}
		w, _ := filled(t, 24)
		w.close()
		harmed := bytes.Clone(whole)
		harmed[at] ^= 1 << (bit % 8)
		w.overwrite(name, harmed)
		w.open()
		follower := newWorld(t).open()
		for offset := int64(0); offset < w.LogEndOffset(); offset++ {
			info, err := w.Read(offset, 400, math.MaxInt64, true)
			var corrupt *CorruptError
			if errors.As(err, &corrupt) {
				refused++
				continue
			}
			if err != nil {
				t.Fatalf("bit %d: read %d: %v", bit, offset, err)
			}
			data := drain(t, info.Chunk)
			end := follower.LogEndOffset()
			if offset == end {
				// Whether it takes what lies before the damage or refuses all is its
				// business.
				_, _ = follower.AppendAsFollower(bytes.Clone(data))
			}
			for rest := data; len(rest) > 0; {
				b, more, parseErr := record.Parse(rest)
				if parseErr != nil || b.CheckCRC() != nil {
					served++
					break
				}
				if want := all[b.BaseOffset()/3]; !bytes.Equal(b, want) {
					t.Fatalf("bit %d: a batch with a right checksum is not the one that was appended", bit)
				}
				rest = more
			}
		}
		for _, b := range follower.readAll(0) {
			if !bytes.Equal(b, all[b.BaseOffset()/3]) {
				t.Fatalf("bit %d: a follower's batch is not the leader's", bit)
			}
		}
	}
	if served == 0 || refused == 0 {
		t.Errorf("%d reads served with a checksum that fails, %d refused; want some of both", served, refused)
	}
}

// TestMisdirectedRead: bytes that are whole, sound batches, but of another place of
// the log, as a disk serves that read or wrote the wrong block, are not taken for
// those of this place.
func TestMisdirectedRead(t *testing.T) {
	source, _ := filled(t, 60)
	source.close()
	var names []string
	for _, n := range source.names() {
		if strings.HasSuffix(n, LogSuffix) {
			names = append(names, n)
		}
	}
	if len(names) < 3 {
		t.Fatalf("%d segments, want more", len(names))
	}
	for _, clean := range []bool{true, false} {
		t.Run(fmt.Sprintf("clean %v", clean), func(t *testing.T) {
			w, _ := filled(t, 60)
			w.close()
			w.overwrite(names[1], source.content(names[0]))
			w.state.CleanShutdown, w.state.RecoveryPoint = clean, 0
			w.open()
			base, _, _ := ParseFileName(names[1])
			if !clean {
				if r := w.Report(); w.LogEndOffset() != base || r.Corruption == nil {
					t.Errorf("recovery ends at %d with %+v, want %d and the corruption named", w.LogEndOffset(), r, base)
				}
				return
			}
			if info, err := w.Read(base, 400, math.MaxInt64, true); err == nil && info.Chunk != nil {
				t.Errorf("offset %d served from bytes of offset 0", base)
			} else if corrupt := (*CorruptError)(nil); !errors.As(err, &corrupt) {
				t.Errorf("read %d: %v, want a CorruptError", base, err)
			}
			if data, _ := w.read(0, 400); len(data) == 0 {
				t.Error("the segment before it is not served")
			}
		})
	}
}

// TestOffsetsThatGoBack: a log in which offsets go back, as an old divergence leaves
// it, opens, with what lies before the first such batch.
func TestOffsetsThatGoBack(t *testing.T) {
	source, all := filled(t, 60)
	name := source.lastLog()
	base, _, _ := ParseFileName(name)
	w, _ := filled(t, 60)
	w.crash()
	w.overwrite(name, append(bytes.Clone(source.content(name)), all[2]...))
	w.checkPrefix(all, len(all))

	w, _ = filled(t, 60)
	w.crash()
	w.overwrite(name, append(bytes.Clone(all[1]), source.content(name)...))
	w.open()
	if w.LogEndOffset() != base || w.Report().Corruption == nil {
		t.Errorf("log end offset %d, report %+v; want %d and the corruption named", w.LogEndOffset(), w.Report(), base)
	}
}
