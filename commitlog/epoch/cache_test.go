package epoch

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/commitlog/checkpoint"
)

func TestEndOffset(t *testing.T) {
	var c Cache
	if found, end := c.EndOffset(0, 7); found != None || end != None {
		t.Errorf("no epochs: (%d, %d), want (-1, -1)", found, end)
	}
	c.Load([]Entry{{2, 10}, {4, 20}, {9, 35}})
	for _, want := range []struct {
		epoch, found int32
		end          int64
	}{{-1, -1, -1}, {0, 0, 10}, {2, 2, 20}, {3, 2, 20}, {4, 4, 35}, {8, 4, 35}, {9, 9, 50}, {10, -1, -1}} {
		if found, end := c.EndOffset(want.epoch, 50); found != want.found || end != want.end {
			t.Errorf("epoch %d: (%d, %d), want (%d, %d)", want.epoch, found, end, want.found, want.end)
		}
	}
}

// TestCacheAgainstALog holds the cache against a slice that has the epoch of
// every offset.
func TestCacheAgainstALog(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var c Cache
		var epochs []int32 // by offset
		start, latest := int64(0), int32(0)
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				latest += rapid.Int32Range(0, 2).Draw(rt, "newer")
				c.Assign(latest, int64(len(epochs)))
				epochs = append(epochs, latest)
			},
			"truncate": func(rt *rapid.T) {
				end := rapid.Int64Range(start, int64(len(epochs))).Draw(rt, "end")
				c.TruncateEnd(end)
				epochs = epochs[:end]
			},
			"delete": func(rt *rapid.T) {
				start = rapid.Int64Range(start, int64(len(epochs))).Draw(rt, "start")
				c.TruncateStart(start)
			},
			"reload": func(rt *rapid.T) {
				entries, err := Decode("x", Encode(c.Entries()))
				if err != nil {
					rt.Fatal(err)
				}
				c.Load(entries)
			},
			"": func(rt *rapid.T) {
				var want []Entry
				for offset := start; offset < int64(len(epochs)); offset++ {
					if n := len(want); n == 0 || want[n-1].Epoch != epochs[offset] {
						want = append(want, Entry{epochs[offset], offset})
					}
				}
				got := c.Entries()
				if n := len(got); n > 0 && got[n-1].StartOffset >= int64(len(epochs)) {
					got = got[:n-1] // An epoch without a record.
				}
				if diff := cmp.Diff(want, got); len(want)+len(got) > 0 && diff != "" {
					rt.Fatalf("from %d to %d (-want +got):\n%s", start, len(epochs), diff)
				}
			},
		})
	})
}

func TestAssignDropsWhatItContradicts(t *testing.T) {
	var c Cache
	c.Load([]Entry{{1, 0}, {3, 40}, {5, 60}})
	if c.Assign(5, 70) || c.Assign(4, 70) {
		t.Error("a known or older epoch was taken for news")
	}
	if !c.Assign(6, 40) {
		t.Error("a newer epoch was no news")
	}
	if diff := cmp.Diff([]Entry{{1, 0}, {6, 40}}, c.Entries()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"0\n0\n", "0\n2\n0 0\n3 17\n", "0\n2\n3 17\n", "0\n1\n-1 0\n", "0\n2\n3 17\n3 18\n", "1\n0\n", "0\n1\n5 9223372036854775808\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := Decode("f", data)
		var format *checkpoint.FormatError
		switch {
		case err != nil && !errors.As(err, &format):
			t.Fatal(err)
		case err == nil:
			again, err := Decode("f", Encode(entries))
			if diff := cmp.Diff(entries, again); err != nil || diff != "" {
				t.Fatalf("encoded anew: %v\n%s", err, diff)
			}
		}
	})
}
