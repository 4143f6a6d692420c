package powercut_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"tidemark/internal/vfs"
	"tidemark/internal/vfs/powercut"
)

// Over random calls, seed 0 leaves what the file system in memory leaves, which
// was written apart; and any other seed only what was there once.
func TestAgainstTheFileSystemInMemory(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		w, mem := start(t), vfs.NewMem()
		if err := errors.Join(mem.MkdirAll(w.root), mem.SyncDir("/")); err != nil {
			t.Fatal(err)
		}
		for dir := w.root; dir != "/"; dir = filepath.Dir(dir) {
			w.must(mem.SyncDir(filepath.Dir(dir)))
		}
		both := twin{w, []vfs.FS{w.Recorder, mem}}
		for range 120 {
			both.step(rng)
		}
		cutSeed := seed % 2 * seed
		w.cut(powercut.CutOptions{Seed: cutSeed})
		if cutSeed == 0 {
			if got, want := tree(t, vfs.OS{}, w.root), tree(t, mem.CrashClone(0), w.root); !slices.Equal(got, want) {
				t.Errorf("seed %d leaves\n%q\nwant\n%q", seed, got, want)
			}
		}
	}
}

// twin does the same to several file systems.
type twin struct {
	w   *world
	all []vfs.FS
}

func (b twin) step(rng *rand.Rand) {
	b.w.t.Helper()
	dirs := []string{"", "a", "a/b"}
	dir := dirs[rng.IntN(len(dirs))]
	path := func() string { return b.w.path(filepath.Join(dir, fmt.Sprint(rng.IntN(4)))) }
	name, other := path(), path()
	size, at := rng.IntN(9000), rng.Int64N(9000)
	data := bytes.Repeat([]byte{byte('a' + rng.IntN(26))}, size)
	kind := rng.IntN(10)
	var errs []error
	for _, fsys := range b.all {
		err := fsys.MkdirAll(b.w.path(dir))
		switch kind {
		case 0:
			err = errors.Join(err, fsys.SyncDir(b.w.path(dir)))
		case 1:
			err = fsys.Remove(name)
		case 2:
			err = fsys.Rename(name, other)
		case 3:
			err = fsys.RemoveAll(b.w.path(dirs[2]))
		default:
			f, openErr := fsys.OpenOrCreate(name)
			if err = openErr; err == nil {
				switch kind {
				case 4:
					err = f.Truncate(at)
				case 5, 6:
					err = f.Sync()
				default:
					_, err = f.WriteAt(data, at)
				}
				err = errors.Join(err, f.Close())
			}
		}
		errs = append(errs, err)
	}
	if (errs[0] == nil) != (errs[1] == nil) {
		b.w.t.Fatalf("step %d: %v and %v", kind, errs[0], errs[1])
	}
}

// tree lists paths with what their files hold.
func tree(t *testing.T, fsys vfs.FS, dir string) (out []string) {
	t.Helper()
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			out = append(append(out, path+"/"), tree(t, fsys, path)...)
			continue
		}
		data, err := vfs.ReadFile(fsys, path)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %d %s", path, len(data), runs(data)))
	}
	return out
}

// runs tells the positions at which the bytes change.
func runs(data []byte) (h string) {
	for i, c := range data {
		if i == 0 || data[i-1] != c {
			h += fmt.Sprintf("%d%c ", i, c)
		}
	}
	return h
}
