package inspect

import (
	"os"
	"path/filepath"
	"testing"

	"tidemark/protocol/record"
)

func TestEndOffset(t *testing.T) {
	dir := t.TempDir()
	segment := func(base int64, batches int) (Prefix, int64) {
		t.Helper()
		var data []byte
		size := 0
		for i := range batches {
			w := record.NewBuilder(record.None, record.DefaultLevel)
			for range 3 {
				w.Append(1, []byte("k"), []byte("v"), nil)
			}
			b := w.Build()
			b.SetBaseOffset(base + int64(3*i))
			data, size = append(data, b...), b.Size()
		}
		p := Prefix{Base: base, Path: filepath.Join(dir, filepath.Base(t.Name())+string(rune('a'+base))), Bytes: int64(len(data)), Whole: true}
		if err := os.WriteFile(p.Path, append(data, make([]byte, 1000)...), 0o644); err != nil {
			t.Fatal(err)
		}
		return p, int64(size)
	}
	first, size := segment(0, 4)
	second, _ := segment(12, 2)
	cut := func(p Prefix, bytes int64) Prefix {
		p.Bytes, p.Whole = bytes, false
		return p
	}
	for name, test := range map[string]struct {
		segments []Prefix
		want     int64
	}{
		"none":                       {nil, 0},
		"all of both":                {[]Prefix{first, second}, 18},
		"preallocated behind":        {[]Prefix{cut(first, 4*size+900)}, 12},
		"one batch and a part":       {[]Prefix{first, cut(second, 2*size-1)}, 15},
		"nothing of the second":      {[]Prefix{first, cut(second, 0)}, 12},
		"the first is not whole":     {[]Prefix{cut(first, 2*size), second}, 6},
		"the first name is not here": {[]Prefix{second}, 18},
	} {
		if got, err := EndOffset(test.segments); got != test.want || err != nil {
			t.Errorf("%s: %d, %v, want %d", name, got, err, test.want)
		}
	}
}
