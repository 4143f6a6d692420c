// Command lazyfs is a file system in user space (FUSE) that knows what a power
// cut would leave of each file: it shows BACKING at MOUNT, and at every fsync it
// puts a copy of the file, as it is then, into DURABLE under its inode number. It
// is the kernel's word on what an engine synced, against which the power-cut
// record is held; nothing of the product depends on it.
//
// It says "mounted" and serves until its standard input ends.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: lazyfs BACKING MOUNT DURABLE")
		os.Exit(3)
	}
	if err := serve(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "lazyfs:", err)
		os.Exit(1)
	}
}

func serve(backing, mount, durable string) error {
	var st syscall.Stat_t
	if err := syscall.Stat(backing, &st); err != nil {
		return err
	}
	root := &fs.LoopbackRoot{Path: backing, Dev: uint64(st.Dev)} // With it, inode numbers are those of BACKING.
	top := &node{LoopbackNode: &fs.LoopbackNode{RootData: root}, durable: durable}
	root.RootNode = top
	_, err := fs.Mount(mount, top, &fs.Options{MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "lazyfs", Name: "lazyfs"}})
	if err != nil {
		return err
	}
	fmt.Println("mounted")
	_, _ = io.Copy(io.Discard, os.Stdin)        // Its end is the signal, however it comes.
	return unix.Unmount(mount, unix.MNT_DETACH) // Whoever still has a file of it open has lost it.
}

// node is a file or directory; its files tell their syncs.
type node struct {
	*fs.LoopbackNode
	durable string
}

// WrapChild implements fs.NodeWrapChilder.
func (n *node) WrapChild(_ context.Context, child fs.InodeEmbedder) fs.InodeEmbedder {
	return &node{LoopbackNode: child.(*fs.LoopbackNode), durable: n.durable}
}

// Create implements fs.NodeCreater.
func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	child, f, fuseFlags, errno := n.LoopbackNode.Create(ctx, name, flags&^unix.O_DIRECT, mode, out)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	// A file that is gone may have had this number before.
	_ = os.Remove(filepath.Join(n.durable, fmt.Sprint(child.StableAttr().Ino)))
	return child, n.wrap(f, filepath.Join(n.RootData.Path, n.Path(n.Root()), name)), fuseFlags, 0
}

// Open implements fs.NodeOpener. The kernel keeps O_DIRECT for itself: buffers
// arrive here unaligned.
func (n *node) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	f, fuseFlags, errno := n.LoopbackNode.Open(ctx, flags&^unix.O_DIRECT)
	if errno != 0 {
		return nil, 0, errno
	}
	return n.wrap(f, filepath.Join(n.RootData.Path, n.Path(n.Root()))), fuseFlags, 0
}

func (n *node) wrap(f fs.FileHandle, path string) fs.FileHandle {
	own, err := os.Open(path)
	if err != nil {
		return f // It is gone already: nothing to copy.
	}
	return &file{LoopbackFile: f.(*fs.LoopbackFile), own: own, durable: n.durable}
}

// file is an open file. It is read and written through the daemon, never past it.
type file struct {
	*fs.LoopbackFile
	own     *os.File
	durable string
}

// PassthroughFd implements fs.FilePassthroughFder: there is none.
func (f *file) PassthroughFd() (int, bool) { return 0, false }

// Fsync implements fs.FileFsyncer; fdatasync(2) and msync(2) come here too. The
// kernel has sent the dirty pages of mappings before.
func (f *file) Fsync(ctx context.Context, flags uint32) syscall.Errno {
	if err := f.keep(); err != nil {
		fmt.Fprintln(os.Stderr, "lazyfs:", err)
		return syscall.EIO
	}
	return 0
}

// keep copies the file; holes stay holes.
func (f *file) keep() error {
	info, err := f.own.Stat()
	if err != nil {
		return err
	}
	name := filepath.Join(f.durable, fmt.Sprint(info.Sys().(*syscall.Stat_t).Ino))
	to, err := os.Create(name + ".part")
	if err != nil {
		return err
	}
	defer to.Close() // Errors come from what was written before.
	if err := to.Truncate(info.Size()); err != nil {
		return err
	}
	for at := int64(0); at < info.Size(); {
		start, err := unix.Seek(int(f.own.Fd()), at, unix.SEEK_DATA)
		if err == unix.ENXIO {
			break
		}
		if err != nil {
			return err
		}
		if at, err = unix.Seek(int(f.own.Fd()), start, unix.SEEK_HOLE); err != nil {
			return err
		}
		data := make([]byte, at-start)
		if _, err := f.own.ReadAt(data, start); err != nil && err != io.EOF {
			return err
		}
		if _, err := to.WriteAt(data, start); err != nil {
			return err
		}
	}
	return os.Rename(name+".part", name)
}

// Release implements fs.FileReleaser.
func (f *file) Release(ctx context.Context) syscall.Errno {
	_ = f.own.Close() // Only read from.
	return f.LoopbackFile.Release(ctx)
}
