package enginetest

import (
	"errors"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tidemark/engines"
	"tidemark/engines/append/buffered"
	"tidemark/internal/vfs"
)

// A badAppender is the buffered engine with one fault.
type badAppender struct {
	engines.Appender
	file engines.File
	held [][]byte
	at   int64
	size int64
}

// badAppends are faults and the clause that must catch each.
var badAppends = []struct {
	name, clause string
	open         func(engines.File, int64, engines.AppendOptions) (engines.Appender, error)
}{
	{"reports the size before the bytes are visible", "visible", wrap(func(b *badAppender) engines.Appender { return &lateAppender{badAppender: b} })},
	{"keeps the caller's buffers", "buffers-returned", wrap(func(b *badAppender) engines.Appender { return &keepingAppender{b} })},
	{"returns the end for the position", "positions", wrap(func(b *badAppender) engines.Appender { return endAppender{b} })},
	{"chokes on nothing to append", "empty", wrap(func(b *badAppender) engines.Appender { return emptyAppender{b} })},
	{"refuses more than a segment", "oversize", openLimited},
	{"stops at its first allocation", "grows", openSmall},
	{"writes all files into one", "two-files", openShared()},
	{"keeps the tail it finds", "drops-the-tail", openKeepingTail},
	{"believes in bytes that are not there", "refuses-a-short-file", openBelieving},
	{"truncates its size only", "truncate", wrap(func(b *badAppender) engines.Appender { return &forgetfulAppender{b} })},
	{"leaves preallocated space", "close-trims", wrap(func(b *badAppender) engines.Appender { return paddedAppender{b} })},
	{"holds the last append until Close", "reopens", openLosing},
	{"flush fails beside append", "flush-beside-append", wrap(func(b *badAppender) engines.Appender { return failingFlush{b} })},
	{"a later flush succeeds", "flush-final", wrap(func(b *badAppender) engines.Appender { return retryingFlush{b} })},
	{"flush does nothing", "flush-final", wrap(func(b *badAppender) engines.Appender { return noFlush{b} })},
	{"flush does nothing, and says so to nobody", "power-cut", wrap(func(b *badAppender) engines.Appender { return noFlush{b} })},
	{"syncs a duplicate of the file", "power-cut", wrap(func(b *badAppender) engines.Appender { return asideFlush{b} })},
	{"copies into a mapping without a guard", "lost-end", openUnguarded},
	{"a failed append moves the end", "error-leaves-end", wrap(func(b *badAppender) engines.Appender { return &movingAppender{b} })},
}

func TestBadAppendEnginesAreCaught(t *testing.T) {
	proved := map[string]bool{}
	for _, bad := range badAppends {
		t.Run(bad.name, func(t *testing.T) {
			spec := engines.AppendSpec{Name: bad.name, Open: bad.open}
			results := run(bad.name, t.TempDir(), only(t, appendClauses, bad.clause), func(dir string) appendBench {
				return appendBench{spec: spec, dir: dir}
			})
			wantCaught(t, results)
		})
		proved[bad.clause] = true
	}
	wantAllProved(t, appendClauses, proved)
}

// A joined error of the broken clauses is what the exported checks return.
func TestChecksReturnWhatTheClausesFound(t *testing.T) {
	noEngine := func(engines.File, int64, engines.AppendOptions) (engines.Appender, error) {
		return nil, errors.New("no engine")
	}
	noReader := func(engines.File, engines.ReadOptions) (engines.Reader, error) {
		return nil, errors.New("no engine")
	}
	for name, err := range map[string]error{
		"CheckAppend": CheckAppend(engines.AppendSpec{Open: noEngine}, t.TempDir()),
		"CheckRead":   CheckRead(engines.ReadSpec{Open: noReader}, t.TempDir()),
		"CheckPair":   CheckPair(engines.AppendSpec{Open: noEngine}, engines.ReadSpec{Open: noReader}, t.TempDir()),
		"CheckFull":   CheckFull(engines.AppendSpec{Open: noEngine}, t.TempDir()),
	} {
		if err == nil || !strings.Contains(err.Error(), "no engine") {
			t.Errorf("%s of an engine that does not open returned %v, want its error", name, err)
		}
	}
}

// only picks one clause.
func only[B any](t *testing.T, clauses []clause[B], name string) []clause[B] {
	t.Helper()
	i := slices.IndexFunc(clauses, func(c clause[B]) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("there is no clause %q", name)
	}
	return clauses[i : i+1]
}

func wantCaught(t *testing.T, results []Result) {
	t.Helper()
	if results[0].Err == nil {
		t.Errorf("clause %q does not catch the engine", results[0].Name)
	}
}

func wantAllProved[B any](t *testing.T, clauses []clause[B], proved map[string]bool) {
	t.Helper()
	for _, c := range clauses {
		if !proved[c.Name] {
			t.Errorf("no bad engine proves that clause %q can fail", c.Name)
		}
	}
}

// wrap opens the buffered engine and plants a fault in it.
func wrap(plant func(*badAppender) engines.Appender) func(engines.File, int64, engines.AppendOptions) (engines.Appender, error) {
	return func(f engines.File, size int64, o engines.AppendOptions) (engines.Appender, error) {
		a, err := buffered.Spec().Open(f, size, o)
		if err != nil {
			return nil, err
		}
		return plant(&badAppender{Appender: a, file: f, size: size}), nil
	}
}

// lateAppender writes an append when the next one comes.
type lateAppender struct{ *badAppender }

func (a *lateAppender) write() error {
	if a.held == nil {
		return nil
	}
	_, err := a.Appender.Append(a.held)
	a.held = nil
	return err
}

func (a *lateAppender) Append(bufs [][]byte) (int64, error) {
	if err := a.write(); err != nil {
		return 0, err
	}
	position := a.size
	for _, buf := range bufs {
		a.held = append(a.held, slices.Clone(buf))
		a.size += int64(len(buf))
	}
	return position, nil
}

func (a *lateAppender) Size() int64  { return a.size }
func (a *lateAppender) Close() error { return errors.Join(a.write(), a.Appender.Close()) }

// keepingAppender writes at once and, from the same buffers, once more later.
type keepingAppender struct{ *badAppender }

func (a *keepingAppender) Append(bufs [][]byte) (int64, error) {
	at := a.at
	for _, buf := range a.held {
		if _, err := a.file.WriteAt(buf, at); err != nil {
			return 0, err
		}
		at += int64(len(buf))
	}
	position, err := a.Appender.Append(bufs)
	a.held, a.at = bufs, position
	return position, err
}

type endAppender struct{ *badAppender }

func (a endAppender) Append(bufs [][]byte) (int64, error) {
	_, err := a.Appender.Append(bufs)
	return a.Appender.Size(), err
}

type emptyAppender struct{ *badAppender }

func (a emptyAppender) Append(bufs [][]byte) (int64, error) {
	for _, buf := range bufs {
		_ = buf[0] // Panics where there is none.
	}
	return a.Appender.Append(bufs)
}

// limited refuses to grow past a limit.
type limited struct {
	engines.Appender
	limit int64
}

func (a limited) Append(bufs [][]byte) (int64, error) {
	end := a.Size()
	for _, buf := range bufs {
		end += int64(len(buf))
	}
	if end > a.limit {
		return 0, errors.New("the segment is full")
	}
	return a.Appender.Append(bufs)
}

func openLimited(f engines.File, size int64, o engines.AppendOptions) (engines.Appender, error) {
	a, err := buffered.Spec().Open(f, size, o)
	return limited{Appender: a, limit: o.SegmentBytes}, err
}

func openSmall(f engines.File, size int64, o engines.AppendOptions) (engines.Appender, error) {
	a, err := buffered.Spec().Open(f, size, o)
	return limited{Appender: a, limit: 16 << 20}, err
}

// openShared opens every further file on the first one's descriptor.
func openShared() func(engines.File, int64, engines.AppendOptions) (engines.Appender, error) {
	var first engines.File
	return func(f engines.File, size int64, o engines.AppendOptions) (engines.Appender, error) {
		if first == nil || f.Name()[:len(f.Name())-3] != first.Name()[:len(first.Name())-3] {
			first = f
		}
		return buffered.Spec().Open(first, size, o)
	}
}

func openKeepingTail(f engines.File, size int64, o engines.AppendOptions) (engines.Appender, error) {
	length, err := f.Size()
	if err != nil {
		return nil, err
	}
	tail := make([]byte, length-size)
	if _, err := f.ReadAt(tail, size); err != nil && len(tail) > 0 {
		return nil, err
	}
	a, err := buffered.Spec().Open(f, size, o)
	if err == nil && len(tail) > 0 {
		_, err = f.WriteAt(tail, size)
	}
	return a, err
}

func openBelieving(f engines.File, size int64, o engines.AppendOptions) (engines.Appender, error) {
	length, err := f.Size()
	if err == nil && length < size {
		err = f.Truncate(size)
	}
	if err != nil {
		return nil, err
	}
	return buffered.Spec().Open(f, size, o)
}

type forgetfulAppender struct{ *badAppender }

func (a *forgetfulAppender) Truncate(size int64) error {
	tail := make([]byte, a.Appender.Size()-size)
	if _, err := a.file.ReadAt(tail, size); err != nil && len(tail) > 0 {
		return err
	}
	if err := a.Appender.Truncate(size); err != nil {
		return err
	}
	_, err := a.file.WriteAt(tail, size)
	return err
}

type paddedAppender struct{ *badAppender }

func (a paddedAppender) Close() error {
	return errors.Join(a.Appender.Close(), a.file.Truncate(a.Size()+4096))
}

// openLosing loses the last byte when it closes.
func openLosing(f engines.File, size int64, o engines.AppendOptions) (engines.Appender, error) {
	a, err := buffered.Spec().Open(f, size, o)
	return losing{a, f}, err
}

type losing struct {
	engines.Appender
	file engines.File
}

func (a losing) Close() error {
	size := a.Size()
	err := a.Appender.Close()
	if size > 0 {
		err = errors.Join(err, a.file.Truncate(size-1))
	}
	return err
}

type failingFlush struct{ *badAppender }

func (failingFlush) Flush() error { return errors.New("busy appending") }

type retryingFlush struct{ *badAppender }

func (a retryingFlush) Flush() error { return a.file.Sync() }

type noFlush struct{ *badAppender }

func (noFlush) Flush() error { return nil }

type movingAppender struct{ *badAppender }

func (a *movingAppender) Append(bufs [][]byte) (int64, error) {
	position, err := a.Appender.Append(bufs)
	for _, buf := range bufs {
		a.size += int64(len(buf))
	}
	return position, err
}

func (a *movingAppender) Size() int64 { return a.size }

// asideFlush syncs by a way of its own, which whoever stands behind the File
// does not see.
type asideFlush struct{ *badAppender }

func (a asideFlush) Flush() error {
	f, err := os.OpenFile(a.file.Name(), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// openUnguarded is an engine that stores into a mapping as if it were memory. A
// careless engine would end the process; this one panics, so that the test lives.
func openUnguarded(f engines.File, size int64, o engines.AppendOptions) (engines.Appender, error) {
	a, err := buffered.Spec().Open(f, size, o)
	if err == nil {
		err = vfs.Allocate(f, 0, 1<<20)
	}
	if err != nil {
		return nil, err
	}
	m, err := vfs.Map(f, 0, 1<<20, true)
	return &unguarded{Appender: a, mapping: m, size: size}, err
}

type unguarded struct {
	engines.Appender
	mapping *vfs.Mapping
	size    int64
}

func (a *unguarded) Append(bufs [][]byte) (int64, error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	position := a.size
	for _, buf := range bufs {
		copy(a.mapping.Bytes(a.size, int64(len(buf))), buf)
		a.size += int64(len(buf))
	}
	return position, nil
}

func (a *unguarded) Size() int64  { return a.size }
func (a *unguarded) Close() error { return errors.Join(a.mapping.Unmap(), a.Appender.Close()) }

// A write whose count is not looked at passes a part for the whole.
func TestCarelessWriterIsCaught(t *testing.T) {
	spec := engines.AppendSpec{Name: "careless", Open: wrap(func(b *badAppender) engines.Appender {
		return &carelessAppender{badAppender: b}
	})}
	wantCaught(t, runShortWrites(spec, t.TempDir()))
}

type carelessAppender struct{ *badAppender }

func (a *carelessAppender) Append(bufs [][]byte) (int64, error) {
	fd, _ := a.file.Descriptor()
	position := a.size
	for _, buf := range bufs {
		if _, err := unix.Pwrite(fd, buf, a.size); err != nil {
			return 0, err
		}
		a.size += int64(len(buf))
	}
	return position, nil
}

func (a *carelessAppender) Size() int64 { return a.size }
