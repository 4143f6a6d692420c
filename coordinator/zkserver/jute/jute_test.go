package jute

import (
	"errors"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRoundTrip(t *testing.T) {
	var w Writer
	w.Int32(-7)
	w.Int64(1 << 40)
	w.Bool(true)
	w.Bool(false)
	w.Buffer(nil)
	w.Buffer([]byte{})
	w.Buffer([]byte{1, 2})
	w.String("päth")
	w.Strings([]string{"a", ""})
	w.PutInt32(0, -8)

	r := NewReader(w.Bytes())
	got := []any{r.Int32(), r.Int64(), r.Bool(), r.Bool(), r.Buffer(), r.Buffer(), r.Buffer(), r.String(), r.Strings()}
	want := []any{int32(-8), int64(1 << 40), true, false, []byte(nil), []byte{}, []byte{1, 2}, "päth", []string{"a", ""}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values differ (-want +got):\n%s", diff)
	}
	if r.Err() != nil || r.Len() != 0 {
		t.Errorf("at the end: error %v, %d bytes left", r.Err(), r.Len())
	}
}

func TestClaimedLengthIsNeverAllocated(t *testing.T) {
	for name, read := range map[string]func(*Reader){
		"buffer":  func(r *Reader) { r.Buffer() },
		"string":  func(r *Reader) { _ = r.String() },
		"strings": func(r *Reader) { r.Strings() },
	} {
		data := []byte{0x7f, 0xff, 0xff, 0xff, 'x'}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := NewReader(data)
		read(r)
		runtime.ReadMemStats(&after)
		if !errors.Is(r.Err(), ErrMalformed) {
			t.Errorf("%s of 2 GiB in 1 byte: error %v, want ErrMalformed", name, r.Err())
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<10 {
			t.Errorf("%s: %d bytes allocated for a length that is not there", name, n)
		}
	}
}

// FuzzReader drives a Reader by a script of field kinds over arbitrary bytes.
func FuzzReader(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5}, []byte{0, 0, 0, 1, 'a'})
	f.Add([]byte{5}, []byte{0, 0, 0, 2, 0, 0, 0, 1, 'a', 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{3, 3}, []byte{0x7f, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, script, data []byte) {
		r := NewReader(data)
		total := 0
		for _, step := range script {
			switch step % 6 {
			case 0:
				r.Int32()
			case 1:
				r.Int64()
			case 2:
				r.Bool()
			case 3:
				total += len(r.Buffer())
			case 4:
				total += len(r.String())
			case 5:
				for _, s := range r.Strings() {
					total += len(s)
				}
			}
		}
		if total > len(data) {
			t.Fatalf("%d bytes came out of %d", total, len(data))
		}
		if r.Err() != nil && !errors.Is(r.Err(), ErrMalformed) {
			t.Fatalf("error %v does not wrap ErrMalformed", r.Err())
		}
	})
}
