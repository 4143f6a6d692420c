package commitlog

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"tidemark/engines"
	"tidemark/engines/catalog"
	"tidemark/internal/vfs"
	"tidemark/internal/vfs/powercut"
)

// lazyFS mounts tools/lazyfs, a file system that keeps a copy of each file at each
// fsync that the kernel passes on. It returns the mount and where the copies are,
// by inode.
func lazyFS(t *testing.T) (mount, durable string) {
	t.Helper()
	if testing.Short() || raceEnabled {
		t.Skip("builds another binary, and has one goroutine")
	}
	if _, err := os.Stat("/dev/fuse"); err != nil || os.Geteuid() != 0 {
		t.Skip("mounting needs /dev/fuse and root")
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "lazyfs")
	if out, err := exec.Command("go", "build", "-C", "../tools", "-o", binary, "./lazyfs").CombinedOutput(); err != nil {
		t.Skipf("tools/lazyfs does not build, perhaps for want of its modules: %v\n%s", err, out)
	}
	mount, durable = filepath.Join(dir, "mount"), filepath.Join(dir, "durable")
	backing := filepath.Join(dir, "backing")
	for _, d := range []string{mount, durable, backing} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	daemon := exec.Command(binary, backing, mount, durable)
	daemon.Stderr = os.Stderr
	in, err := daemon.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := daemon.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
		if err := daemon.Wait(); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "mounted\n" {
		t.Skipf("this machine mounts no FUSE file system: %q, %v", line, err)
	}
	return mount, durable
}

// opens tries an engine on a file that keeps its name: one that has lost it, as in a
// trial of Available, cannot be opened a second time on FUSE.
func opens(spec engines.AppendSpec, name string) error {
	f, err := vfs.OS{}.Create(name)
	if err != nil {
		return err
	}
	a, err := spec.Open(f, 0, engines.AppendOptions{SegmentBytes: 1})
	if err == nil {
		err = a.Close()
	}
	return errors.Join(err, f.Close(), os.Remove(name))
}

// TestRecordAgainstAnotherLayer holds the power-cut record against what the kernel
// passed on to a file system below: with every engine, after a trace that ends at
// some call, each file that a cut leaves when all unsynced is lost has exactly the
// bytes that were there at its last fsync; what that had more is zeros, space that
// the engine reserved.
func TestRecordAgainstAnotherLayer(t *testing.T) {
	mount, durable := lazyFS(t)
	for _, spec := range catalog.Builtin().Appends() {
		t.Run(spec.Name, func(t *testing.T) {
			if err := opens(spec, filepath.Join(mount, "trial-"+spec.Name)); err != nil {
				t.Skipf("%s does not run on FUSE here: %v", spec.Name, err)
			}
			compared, bytesThere := 0, 0
			for seed, at := range []int{300, 700} {
				dir, err := os.MkdirTemp(mount, spec.Name)
				if err != nil {
					t.Fatal(err)
				}
				p := newPowered(t, spec, dir, uint64(seed), at)
				p.run(200)
				p.cutOnly(powercut.CutOptions{})
				err = filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
					if err != nil || d.IsDir() {
						return err
					}
					left, err := os.ReadFile(path)
					if err != nil {
						return err
					}
					info, err := d.Info()
					if err != nil {
						return err
					}
					name := filepath.Join(durable, strconv.FormatUint(info.Sys().(*syscall.Stat_t).Ino, 10))
					synced, err := os.ReadFile(name)
					if err != nil && !os.IsNotExist(err) {
						return err
					}
					if !bytes.HasPrefix(synced, left) || len(bytes.TrimLeft(synced[len(left):], "\x00")) > 0 {
						t.Errorf("trace %d: %s has %d bytes by the record, %d at its last fsync, and they differ", seed, path, len(left), len(synced))
					}
					compared++
					bytesThere += len(left)
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			if compared < 10 || bytesThere == 0 {
				t.Errorf("%d files with %d bytes compared, want more", compared, bytesThere)
			}
			t.Logf("%d files with %d bytes are the same in both", compared, bytesThere)
		})
	}
}
