package enginetest

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/engines"
	"tidemark/engines/append/buffered"
	"tidemark/engines/read/pread"
)

// badPairs are faults that show only when one file is written and read.
var badPairs = []struct {
	name, clause string
	reads        engines.ReadSpec
	// appends is the buffered engine where it is not said.
	appends engines.AppendSpec
}{
	{name: "remembers what it read", clause: "truncate-then-append", reads: engines.ReadSpec{Open: wrapRead(func(r *badReader) engines.Reader {
		return &memoReader{badReader: r, memo: map[int64][]byte{}}
	})}},
	{name: "does not see the newest page", clause: "coherent", reads: engines.ReadSpec{Open: wrapRead(func(r *badReader) engines.Reader { return laggingReader{r} })}},
	{name: "does not see the newest page while it is written", clause: "readers-during-append", reads: engines.ReadSpec{Open: wrapRead(func(r *badReader) engines.Reader { return laggingReader{r} })}},
	{name: "sends nothing to sockets", clause: "readers-during-append", reads: engines.ReadSpec{Open: wrapRead(func(r *badReader) engines.Reader { return silentReader{r} })}},
	{name: "forgets what it lets go", clause: "readers-during-append", reads: engines.ReadSpec{Open: wrapRead(func(r *badReader) engines.Reader { return &forgettingReader{badReader: r} })}},
	{name: "stops at a segment's size", clause: "oversize-read", reads: engines.ReadSpec{Open: func(f engines.File, o engines.ReadOptions) (engines.Reader, error) {
		return wrapRead(func(r *badReader) engines.Reader { return fixedReader{r, o.SegmentBytes} })(f, o)
	}}},
	{name: "does not see the end of a sealed file", clause: "read-after-seal", reads: engines.ReadSpec{Open: wrapRead(func(r *badReader) engines.Reader { return laggingReader{r} })}},
	{name: "does not see what a new appender adds", clause: "reopen-read", reads: engines.ReadSpec{Open: func(f engines.File, o engines.ReadOptions) (engines.Reader, error) {
		return wrapRead(func(r *badReader) engines.Reader { return fixedReader{r, 10_000} })(f, o)
	}}},
	{name: "truncates to nothing first", clause: "readers-during-truncate", appends: engines.AppendSpec{Open: wrap(func(b *badAppender) engines.Appender { return rewritingAppender{b} })}},
	{name: "is empty while it is sealed", clause: "readers-during-seal", appends: engines.AppendSpec{Open: wrap(func(b *badAppender) engines.Appender { return blinkingAppender{b} })}},
	{name: "opens the file by name for each append", clause: "removed-under-both", appends: engines.AppendSpec{Open: wrap(func(b *badAppender) engines.Appender { return byNameAppender{b} })}},
	{name: "opens the file by name for each chunk", clause: "removed-under-both", reads: engines.ReadSpec{Open: wrapRead(func(r *badReader) engines.Reader { return byNameReader{r} })}},
}

// exact is an engine whose file is as long as what was appended, by which a bad
// reader goes.
func exact(spec engines.AppendSpec) engines.AppendSpec {
	open := spec.Open
	spec.Open = func(f engines.File, size int64, o engines.AppendOptions) (engines.Appender, error) {
		o.NoPrefault = true
		return open(f, size, o)
	}
	return spec
}

func TestBadPairsAreCaught(t *testing.T) {
	proved := map[string]bool{}
	for _, bad := range badPairs {
		if bad.appends.Open == nil {
			bad.appends = exact(buffered.Spec())
		}
		if bad.reads.Open == nil {
			bad.reads = pread.Spec()
		}
		t.Run(bad.name+" "+bad.clause, func(t *testing.T) {
			results := run(bad.name, t.TempDir(), only(t, pairClauses, bad.clause), func(dir string) pairBench {
				return pairBench{appends: bad.appends, reads: bad.reads, dir: dir}
			})
			wantCaught(t, results)
		})
		proved[bad.clause] = true
	}
	wantAllProved(t, pairClauses, proved)
}

// memoReader answers a second ReadAt of a position from memory.
type memoReader struct {
	*badReader
	mu   sync.Mutex
	memo map[int64][]byte
}

func (r *memoReader) ReadAt(p []byte, at int64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.memo[at]; len(known) >= len(p) {
		return copy(p, known), nil
	}
	n, err := r.Reader.ReadAt(p, at)
	r.memo[at] = append([]byte(nil), p[:n]...)
	return n, err
}

// forgettingReader has nothing any more of what it let go.
type forgettingReader struct {
	*badReader
	from, to atomic.Int64
}

func (r *forgettingReader) LetGo(from, to int64) {
	r.from.Store(from)
	r.to.Store(to)
}

func (r *forgettingReader) ReadAt(p []byte, at int64) (int, error) {
	n, err := r.Reader.ReadAt(p, at)
	if r.from.Load() <= at && at < r.to.Load() {
		clear(p[:n])
	}
	return n, err
}

type laggingReader struct{ *badReader }

func (r laggingReader) ReadAt(p []byte, at int64) (int, error) {
	n, err := r.Reader.ReadAt(p, at)
	if size, sizeErr := r.file.Size(); sizeErr == nil && at+int64(n) > size-16 {
		clear(p[max(0, int64(n)-16):n])
	}
	return n, err
}

// rewritingAppender truncates by writing what stays once more.
type rewritingAppender struct{ *badAppender }

func (a rewritingAppender) Truncate(size int64) error {
	kept := make([]byte, size)
	if _, err := a.file.ReadAt(kept, 0); err != nil {
		return err
	}
	if err := a.Appender.Truncate(0); err != nil {
		return err
	}
	time.Sleep(patience) // As a disk may take, so that readers come by.
	_, err := a.Appender.Append([][]byte{kept})
	return err
}

// blinkingAppender trims the file in two steps.
type blinkingAppender struct{ *badAppender }

func (a blinkingAppender) Close() error {
	kept := make([]byte, a.Size())
	if _, err := a.file.ReadAt(kept, 0); err != nil {
		return err
	}
	if err := errors.Join(a.Appender.Close(), a.file.Truncate(0)); err != nil {
		return err
	}
	time.Sleep(patience) // As above.
	_, err := a.file.WriteAt(kept, 0)
	return err
}

type byNameAppender struct{ *badAppender }

func (a byNameAppender) Append(bufs [][]byte) (int64, error) {
	f, err := os.Open(a.file.Name())
	if err != nil {
		return 0, err
	}
	_ = f.Close() // Opened for the fault only.
	return a.Appender.Append(bufs)
}
