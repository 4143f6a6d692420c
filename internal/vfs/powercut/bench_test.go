package powercut_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"tidemark/internal/vfs"
	"tidemark/internal/vfs/powercut"
)

// BenchmarkRecord is what a record costs: an append, an append with its sync, and
// a small file written, renamed into place and made durable. With TMPDIR on a file
// system in memory the disk does not hide it.
func BenchmarkRecord(b *testing.B) {
	for _, recorded := range []bool{false, true} {
		var fsys vfs.FS = vfs.OS{}
		root := b.TempDir()
		if recorded {
			r, err := powercut.Start(powercut.Options{Dir: filepath.Join(b.TempDir(), "record"), Roots: []string{root}})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = r.Close() }) // The files are about to go.
			fsys = r
		}
		block := make([]byte, 512)
		appends := func(b *testing.B, sync bool) {
			f, err := fsys.OpenOrCreate(filepath.Join(root, "log"))
			if err != nil {
				b.Fatal(err)
			}
			if err := f.Truncate(0); err != nil {
				b.Fatal(err)
			}
			ended, at := vfs.EndedOf(f), int64(0)
			for b.Loop() {
				if _, err := f.WriteAt(block, at); err != nil {
					b.Fatal(err)
				}
				if at += int64(len(block)); ended != nil {
					ended.SetEnd(at)
				}
				if sync {
					if err := f.Sync(); err != nil {
						b.Fatal(err)
					}
				}
			}
			if err := f.Close(); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprintf("append/recorded=%v", recorded), func(b *testing.B) { appends(b, false) })
		b.Run(fmt.Sprintf("sync/recorded=%v", recorded), func(b *testing.B) { appends(b, true) })
		b.Run(fmt.Sprintf("replace/recorded=%v", recorded), func(b *testing.B) {
			for b.Loop() {
				if err := vfs.WriteFileAtomic(fsys, filepath.Join(root, "checkpoint"), block[:100]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
