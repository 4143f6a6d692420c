package enginetest

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"

	"tidemark/engines"
	"tidemark/internal/vfs"
)

// sector is what a disk writes whole or not at all.
const sector = 512

// medium is a new file and what the power may leave of it.
type medium interface {
	engines.File
	// cut opens the file as a machine could find it after its power was cut now:
	// what was synced, and of the rest what the seed decides.
	cut(seed uint64) (engines.File, error)
}

// memoryMedium is a file in memory.
type memoryMedium struct {
	engines.File
	fs *vfs.Mem
}

func newMemoryMedium() (memoryMedium, error) {
	m := memoryMedium{fs: vfs.NewMem()}
	var err error
	if m.File, err = m.fs.Create("/segment"); err == nil {
		err = m.fs.SyncDir("/")
	}
	return m, err
}

func (m memoryMedium) cut(seed uint64) (engines.File, error) {
	return m.fs.CrashClone(seed).Open("/segment")
}

// recordedMedium is a file of the machine that notes at each Sync what was in it.
// An engine that reaches the disk by another way than Sync has noted nothing.
type recordedMedium struct {
	engines.File
	dir string

	mu      sync.Mutex
	durable []byte
}

func newRecordedMedium(dir string) (*recordedMedium, error) {
	f, err := vfs.OS{}.Create(filepath.Join(dir, "segment"))
	return &recordedMedium{File: f, dir: dir}, err
}

// Sync implements engines.File.
func (m *recordedMedium) Sync() error {
	now, err := os.ReadFile(m.Name())
	if err != nil {
		return err
	}
	if err := m.File.Sync(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.durable = now
	return nil
}

func (m *recordedMedium) cut(seed uint64) (engines.File, error) {
	now, err := os.ReadFile(m.Name())
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	left := remains(m.durable, now, rand.New(rand.NewPCG(seed, 0)))
	m.mu.Unlock()
	f, err := vfs.OS{}.Create(filepath.Join(m.dir, fmt.Sprintf("cut-%d", seed)))
	if err != nil {
		return nil, err
	}
	_, err = f.WriteAt(left, 0)
	return f, err
}

// remains rolls what a disk holds of a file: the durable length, the present one
// or one between, and in it each sector as it was or as it is.
func remains(durable, now []byte, rng *rand.Rand) []byte {
	short, long := min(len(durable), len(now)), max(len(durable), len(now))
	left := make([]byte, short+rng.IntN(long-short+1))
	copy(left, durable)
	for at := 0; at < min(len(left), len(now)); at += sector {
		if rng.IntN(2) == 0 {
			copy(left[at:min(at+sector, len(left))], now[at:])
		}
	}
	return left
}

// contentOf is all of a file, in memory or not.
func contentOf(f engines.File) ([]byte, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	got := make([]byte, size)
	if n, err := f.ReadAt(got, 0); n < len(got) && err != io.EOF {
		return nil, err
	}
	return got, nil
}
