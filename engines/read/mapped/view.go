package mapped

import (
	"fmt"
	"sync"
	"sync/atomic"

	"tidemark/internal/vfs"
)

// view is the mapping of one file that grows. Address space is taken once, for a
// whole segment, and pages of the file are mapped into it as far as the file
// reaches, never past its end; so the bytes a chunk looks at do not move. Only a
// file that outgrows the segment gets another, larger space, and the former one
// stays until unmap. It is safe for concurrent use, unmap apart.
type view struct {
	file         vfs.File
	segmentBytes int64

	now atomic.Pointer[extent]

	mu sync.Mutex
	// former are the spaces that the file outgrew.
	former []*vfs.Mapping
}

// extent is a mapping and the length of the file that it shows; immutable.
type extent struct {
	mapping *vfs.Mapping
	end     int64
}

// cover returns a mapping that shows the bytes up to want, or as far as the file
// reaches: end says which. The mapping is nil where there is nothing at from.
func (v *view) cover(from, want int64) (m *vfs.Mapping, end int64, err error) {
	if e := v.now.Load(); e != nil && want <= e.end {
		return e.mapping, e.end, nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	size, err := v.file.Size()
	if err != nil {
		return nil, 0, fmt.Errorf("map %s: %w", v.file.Name(), err)
	}
	e := v.now.Load()
	if e == nil {
		e = &extent{}
	}
	if size > e.end {
		if e, err = v.grow(e, size); err != nil {
			return nil, 0, fmt.Errorf("map %s: %w", v.file.Name(), err)
		}
		v.now.Store(e)
	}
	if from >= e.end {
		return nil, e.end, nil
	}
	return e.mapping, e.end, nil
}

// grow maps what the file gained.
func (v *view) grow(e *extent, size int64) (*extent, error) {
	if e.mapping == nil || size > e.mapping.End() {
		m, err := vfs.Reserve(v.file, 0, max(size, v.segmentBytes))
		if err != nil {
			return nil, err
		}
		if e.mapping != nil {
			v.former = append(v.former, e.mapping)
		}
		e = &extent{mapping: m}
	}
	if mapped := vfs.PageCeil(e.end); mapped < size {
		if err := e.mapping.Extend(v.file, mapped, size, false); err != nil {
			v.discard(e.mapping)
			return nil, err
		}
	}
	return &extent{mapping: e.mapping, end: size}, nil
}

// discard keeps a space that is not in use for the final unmap.
func (v *view) discard(m *vfs.Mapping) {
	if now := v.now.Load(); now == nil || now.mapping != m {
		v.former = append(v.former, m)
	}
}

// unmap gives everything back; nobody may look at the mappings any more.
func (v *view) unmap() error {
	var first error
	if e := v.now.Swap(nil); e != nil {
		v.former = append(v.former, e.mapping)
	}
	for _, m := range v.former {
		if err := m.Unmap(); err != nil && first == nil {
			first = err
		}
	}
	v.former = nil
	return first
}
