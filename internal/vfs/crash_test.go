package vfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"tidemark/internal/vfs"
)

func TestCrashWithSeedZeroLosesTheUnsynced(t *testing.T) {
	m := memWith(t, "/dir")
	mustWrite(t, m, "/dir/kept", "synced", true)
	mustWrite(t, m, "/dir/removed", "synced", true)
	if err := m.SyncDir("/dir"); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, m, "/dir/nameless", "synced content, name not synced", true)
	if err := m.Remove("/dir/removed"); err != nil {
		t.Fatal(err)
	}
	f, err := m.Open("/dir/kept")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(writeAt(f, "S", 0), writeAt(f, " and more", 6)); err != nil {
		t.Fatal(err)
	}
	c := m.CrashClone(0)
	wantContent(t, c, "/dir/kept", "synced")
	wantContent(t, c, "/dir/removed", "synced")
	if _, err := c.Stat("/dir/nameless"); err == nil {
		t.Error("a name that no SyncDir covered survived seed 0")
	}
	wantContent(t, m, "/dir/kept", "Synced and more")
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	wantContent(t, m.CrashClone(0), "/dir/kept", "Synced and more")
}

// What was synced is there under every seed, whatever else the dice say; and the
// dice do both: lose and keep.
func TestCrashKeepsTheSynced(t *testing.T) {
	m := memWith(t, "/dir")
	synced := bytes.Repeat([]byte("s"), 5000)
	mustWrite(t, m, "/dir/log", string(synced), true)
	if err := m.SyncDir("/dir"); err != nil {
		t.Fatal(err)
	}
	f, err := m.Open("/dir/log")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(bytes.Repeat([]byte("u"), 5000), 5000); err != nil {
		t.Fatal(err)
	}
	sizes, contents := map[int]bool{}, map[string]bool{}
	for seed := range uint64(200) {
		got, err := vfs.ReadFile(m.CrashClone(seed), "/dir/log")
		if err != nil {
			t.Fatal(err)
		}
		again, err := vfs.ReadFile(m.CrashClone(seed), "/dir/log")
		if err != nil || !bytes.Equal(got, again) {
			t.Fatalf("seed %d gives two clones of one state", seed)
		}
		if !bytes.HasPrefix(got, synced) {
			t.Fatalf("seed %d lost synced bytes", seed)
		}
		if rest := bytes.Trim(got[5000:], "u\x00"); len(got) > 10_000 || len(rest) > 0 {
			t.Fatalf("seed %d invented bytes: %q", seed, rest)
		}
		sizes[len(got)] = true
		contents[string(got)] = true
	}
	if !sizes[5000] || !sizes[10_000] || len(sizes) < 10 || len(contents) < 20 {
		t.Errorf("200 seeds gave %d lengths and %d contents, old and new among them: %v %v", len(sizes), len(contents), sizes[5000], sizes[10_000])
	}
}

// A rename happened or it did not; the file is never under neither name.
func TestCrashRenamesAtomically(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(100) {
		m := memWith(t, "/dir")
		mustWrite(t, m, "/dir/name", "old", true)
		if err := m.SyncDir("/dir"); err != nil {
			t.Fatal(err)
		}
		mustWrite(t, m, "/dir/tmp", "new", true)
		if err := m.Rename("/dir/tmp", "/dir/name"); err != nil {
			t.Fatal(err)
		}
		got, err := vfs.ReadFile(m.CrashClone(seed), "/dir/name")
		if err != nil || string(got) != "old" && string(got) != "new" {
			t.Fatalf("seed %d: %q, %v", seed, got, err)
		}
		seen[string(got)] = true
		if err := m.SyncDir("/dir"); err != nil {
			t.Fatal(err)
		}
		wantContent(t, m.CrashClone(seed), "/dir/name", "new")
	}
	if len(seen) != 2 {
		t.Errorf("100 seeds saw only %v", seen)
	}
}

// WriteFileAtomic at every call and every seed: old or new, whole.
func TestWriteFileAtomicSurvivesACrashAtEveryCall(t *testing.T) {
	m := memWith(t, "/dir")
	if err := vfs.WriteFileAtomic(m, "/dir/file", []byte("0")); err != nil {
		t.Fatal(err)
	}
	calls := 0
	for i := range 5 {
		former, next := fmt.Sprint(i), fmt.Sprint(i+1)
		faulty := vfs.NewFaulty(m)
		faulty.OnCall(func(op vfs.Op, _ string) error {
			calls++
			for seed := range uint64(20) {
				got, err := vfs.ReadFile(m.CrashClone(seed), "/dir/file")
				if err != nil || string(got) != former && string(got) != next {
					t.Errorf("crash at %s, seed %d: %q, %v, want %s or %s", op, seed, got, err, former, next)
				}
			}
			return nil
		})
		if err := vfs.WriteFileAtomic(faulty, "/dir/file", []byte(next)); err != nil {
			t.Fatal(err)
		}
		wantContent(t, m.CrashClone(0), "/dir/file", next)
	}
	if calls < 5*6 {
		t.Errorf("only %d calls were seen", calls)
	}
}
