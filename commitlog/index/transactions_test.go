package index

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/internal/vfs"
)

const txnPath = "/s.txnindex"

// TestTransactionsAgainstSlice: whatever was appended, written, truncated and opened
// again, Collect finds what a look at every entry finds.
func TestTransactionsAgainstSlice(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		fsys := vfs.NewMem()
		x, all, next := NewTransactions(fsys, txnPath, 100), []Aborted(nil), int64(100)
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				for range rapid.SampledFrom([]int{1, 1, 5, 300}).Draw(rt, "count") {
					last := next + rapid.Int64Range(0, 20).Draw(rt, "gap")
					first := max(0, last-1-rapid.Int64Range(0, 60).Draw(rt, "length"))
					a := Aborted{ProducerID: last % 7, FirstOffset: first, LastOffset: last, LastStableOffset: last + 1 - (last % 3)}
					x.Append(a)
					all, next = append(all, a), last+1
				}
			},
			"spill": func(rt *rapid.T) { must(rt, x.Spill()) },
			"flush": func(rt *rapid.T) { must(rt, x.Sync()) },
			"truncate": func(rt *rapid.T) {
				to := rapid.Int64Range(90, next+5).Draw(rt, "to")
				must(rt, x.TruncateTo(to))
				for len(all) > 0 && all[len(all)-1].LastOffset >= to {
					all = all[:len(all)-1]
				}
			},
			"reopen": func(rt *rapid.T) {
				must(rt, x.Sync())
				must(rt, x.Close())
				opened, err := OpenTransactions(fsys, txnPath, 100, next)
				if errors.Is(err, fs.ErrNotExist) && len(all) == 0 {
					opened, err = NewTransactions(fsys, txnPath, 100), nil
				}
				must(rt, err)
				x = opened
			},
			"": func(rt *rapid.T) {
				from := rapid.Int64Range(90, next+5).Draw(rt, "from")
				upTo := from + rapid.Int64Range(0, 100).Draw(rt, "length")
				got, complete, err := x.Collect(nil, from, upTo)
				must(rt, err)
				var want []Aborted
				wantComplete := false
				for _, a := range all {
					if a.LastOffset < from || wantComplete {
						continue
					}
					if a.FirstOffset < upTo {
						want = append(want, a)
					}
					wantComplete = a.LastStableOffset >= upTo
				}
				if diff := cmp.Diff(want, got); diff != "" || complete != wantComplete || x.Entries() != len(all) {
					rt.Fatalf("%d entries, want %d; complete %v, want %v; from %d to %d (-want +got):\n%s", x.Entries(), len(all), complete, wantComplete, from, upTo, diff)
				}
			},
		})
		must(rt, x.Close())
	})
}

func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestTransactionBytes pins Kafka's layout, and that there is no file without an
// aborted transaction.
func TestTransactionBytes(t *testing.T) {
	fsys := vfs.NewMem()
	x := NewTransactions(fsys, txnPath, 0)
	must(t, x.Sync())
	if _, err := fsys.Stat(txnPath); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file for nothing: %v", err)
	}
	x.Append(Aborted{ProducerID: 1, FirstOffset: 2, LastOffset: 3, LastStableOffset: 4})
	must(t, x.Sync())
	data, err := vfs.ReadFile(fsys, txnPath)
	must(t, err)
	want := "0000" + "0000000000000001" + "0000000000000002" + "0000000000000003" + "0000000000000004"
	if got := hex.EncodeToString(data); got != want {
		t.Errorf("transaction index\n%s, want\n%s", got, want)
	}
}

// TestDamagedTransactions: what cannot be the index of the segment is not taken for it.
func TestDamagedTransactions(t *testing.T) {
	sound := Aborted{ProducerID: 1, FirstOffset: 90, LastOffset: 110, LastStableOffset: 95}
	for name, c := range map[string]struct {
		entries []Aborted
		change  func([]byte) []byte
	}{
		"cut off":                 {[]Aborted{sound}, func(b []byte) []byte { return b[:len(b)-1] }},
		"of another version":      {[]Aborted{sound}, func(b []byte) []byte { b[1] = 1; return b }},
		"a marker before base":    {[]Aborted{{ProducerID: 1, FirstOffset: 90, LastOffset: 99, LastStableOffset: 95}}, nil},
		"a marker behind the end": {[]Aborted{{ProducerID: 1, FirstOffset: 90, LastOffset: 200, LastStableOffset: 95}}, nil},
		"a marker before its data": {[]Aborted{{ProducerID: 1, FirstOffset: 110, LastOffset: 110, LastStableOffset: 95}},
			nil},
		"markers that do not ascend": {[]Aborted{sound, sound}, nil},
		"a stable offset too far":    {[]Aborted{{ProducerID: 1, FirstOffset: 90, LastOffset: 110, LastStableOffset: 112}}, nil},
		"a negative producer":        {[]Aborted{{ProducerID: -1, FirstOffset: 90, LastOffset: 110, LastStableOffset: 95}}, nil},
	} {
		fsys := vfs.NewMem()
		x := NewTransactions(fsys, txnPath, 100)
		for _, a := range c.entries {
			x.Append(a)
		}
		must(t, x.Sync())
		if c.change != nil {
			data, err := vfs.ReadFile(fsys, txnPath)
			must(t, err)
			must(t, vfs.WriteFileAtomic(fsys, txnPath, c.change(data)))
		}
		if _, err := OpenTransactions(fsys, txnPath, 100, 150); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v, want ErrDamaged", name, err)
		}
	}
}

// FuzzTransactions: whatever opens is what its bytes say, and encodes to the same ones.
func FuzzTransactions(f *testing.F) {
	f.Add([]byte{}, int64(0))
	f.Add([]byte{0, 0, 0}, int64(0))
	entry, _ := hex.DecodeString("0000" + "0000000000000001" + "0000000000000002" + "0000000000000003" + "0000000000000004")
	f.Add(entry, int64(0))
	f.Add(append(entry, entry...), int64(3))
	f.Fuzz(func(t *testing.T, data []byte, base int64) {
		fsys := vfs.NewMem()
		must(t, vfs.WriteFileAtomic(fsys, txnPath, data))
		decoded, decodeErr := DecodeTransactions(data, base)
		x, err := OpenTransactions(fsys, txnPath, base, 1<<62)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		if decodeErr != nil || x.Entries() != len(decoded) {
			t.Fatalf("opened with %d entries; decoded %d, %v", x.Entries(), len(decoded), decodeErr)
		}
		again := NewTransactions(fsys, txnPath+"2", base)
		must(t, x.Each(again.Append))
		must(t, again.Sync())
		if len(data) == 0 {
			return
		}
		copied, err := vfs.ReadFile(fsys, txnPath+"2")
		must(t, err)
		if diff := cmp.Diff(data, copied); diff != "" {
			t.Fatalf("encoded anew (-want +got):\n%s", diff)
		}
	})
}
