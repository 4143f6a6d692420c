package chaos

import (
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// batchOf is a batch with nothing but what is looked at.
func batchOf(base int64, epoch int32, records int, body string) []byte {
	b := append(make([]byte, headerBytes), body...)
	big.PutUint64(b, uint64(base))
	big.PutUint32(b[atLength:], uint32(len(b)-beforeEpoch))
	big.PutUint32(b[atEpoch:], uint32(epoch))
	big.PutUint32(b[atLastDelta:], uint32(records-1))
	big.PutUint32(b[atCRC:], crc32.Checksum(b[atAttributes:], castagnoli))
	return b
}

// folder writes segments, each of some batches.
func folder(t *testing.T, segments map[string][][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, batches := range segments {
		var all []byte
		for _, b := range batches {
			all = append(all, b...)
		}
		if err := os.WriteFile(filepath.Join(dir, name), all, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const first, second = "00000000000000000000.log", "00000000000000000005.log"

func TestLogsAreEqual(t *testing.T) {
	a, b, c := batchOf(0, 0, 5, "a"), batchOf(5, 0, 2, "b"), batchOf(7, 3, 1, "c")
	one := folder(t, map[string][][]byte{first: {a, b, c}})
	two := folder(t, map[string][][]byte{first: {a}, second: {b, c, make([]byte, 100)}, "00000000000000000000.index": {a}})
	got, err := CompareLogs(one, two, one)
	want := Log{Batches: 3, Bytes: int64(len(a) + len(b) + len(c)), End: 8, Starts: []EpochStart{{0, 0}, {3, 7}}}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	for epoch, start := range map[int32]int64{-1: 0, 0: 7, 2: 7, 3: 8} {
		if got.StartAfter(epoch) != start {
			t.Errorf("an epoch after %d starts at %d, want %d", epoch, got.StartAfter(epoch), start)
		}
	}
}

func TestLogsThatAreWrong(t *testing.T) {
	a, b := batchOf(0, 1, 5, "a"), batchOf(5, 1, 2, "b")
	flipped := append([]byte(nil), b...)
	flipped[len(flipped)-1] ^= 1
	sound := folder(t, map[string][][]byte{first: {a, b}})
	for name, c := range map[string]struct {
		segments map[string][][]byte
		says     string
	}{
		"the tail is missing":     {map[string][][]byte{first: {a}}, "differ at offset 5"},
		"there is more":           {map[string][][]byte{first: {a, b, batchOf(7, 1, 1, "c")}}, "differ at offset 7"},
		"another epoch":           {map[string][][]byte{first: {a, batchOf(5, 2, 2, "b")}}, "differ at offset 5"},
		"another body":            {map[string][][]byte{first: {a, batchOf(5, 1, 2, "B")}}, "differ at offset 5"},
		"a flipped bit":           {map[string][][]byte{first: {a, flipped}}, "wrong checksum"},
		"a torn batch":            {map[string][][]byte{first: {a, b[:len(b)-1]}}, "unexpected EOF"},
		"a torn header":           {map[string][][]byte{first: {a, b[:9]}}, "EOF"},
		"an epoch that goes back": {map[string][][]byte{first: {a, batchOf(5, 0, 2, "b")}}, "epoch 0 at offset 5 after epoch 1"},
		"an offset that does":     {map[string][][]byte{first: {a, batchOf(4, 1, 2, "b")}}, "offset 4 where 5 is due"},
		"nonsense":                {map[string][][]byte{first: {a, make([]byte, 3), b}}, "at offset 0"},
	} {
		dir := folder(t, c.segments)
		_, err := CompareLogs(dir, sound)
		if _, alone := CompareLogs(dir); alone != nil {
			err = alone
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
		if _, err := CompareLogs(sound, dir); err == nil {
			t.Errorf("%s: taken for equal", name)
		}
	}
	if _, err := CompareLogs(sound, filepath.Join(sound, "none")); err == nil {
		t.Error("a replica without files is taken for equal")
	}
}
