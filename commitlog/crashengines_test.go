package commitlog

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"tidemark/engines"
	"tidemark/engines/catalog"
	"tidemark/internal/vfs"
	"tidemark/internal/vfs/powercut"
)

// TestPowerCutsWithEveryEngine does to every append engine, on real files, what
// TestPowerCutsInATrace does exhaustively in memory: a trace of 200 operations
// ends at some call, the power-cut record says what a disk may hold then, and the
// log that is recovered from it must be right and go on.
func TestPowerCutsWithEveryEngine(t *testing.T) {
	const operations = 200
	for _, spec := range catalog.Builtin().Appends() {
		t.Run(spec.Name, func(t *testing.T) {
			if err := spec.Available(t.TempDir()); err != nil {
				t.Skip(err)
			}
			calls, cuts, lossy := 0, 0, 0
			for sample := range 6 * int(*traces) {
				at := 0 // Of the first run, no call: it counts them.
				if sample > 0 {
					at = 1 + (calls*sample)/(6*int(*traces)) - sample%3
				}
				p := newPowered(t, spec, t.TempDir(), uint64(sample)/6, at)
				seen := p.run(operations)
				calls = max(calls, seen)
				if at > 0 {
					cuts++
				}
				torn := []powercut.Torn{powercut.Page, powercut.Sector}[sample%2]
				left := p.cut(powercut.CutOptions{Seed: uint64(sample / 2), Torn: torn})
				if left.end < p.end {
					lossy++
				}
				left.goOn(50)
			}
			if lossy == 0 {
				t.Error("no cut took anything: they prove nothing")
			}
			t.Logf("%d operations make %d calls, %d of them cut, %d cuts took records", operations, calls, cuts, lossy)
		})
	}
}

// errPowerCut is what every call says once the power is gone.
var errPowerCut = errors.New("no power")

// powered is a session on real files whose power goes off.
type powered struct {
	*session
	test     *testing.T
	record   string
	recorder *powercut.Recorder
	calls    int
}

// newPowered starts a session in dir; at the call with number at, from 1, the power
// goes. With 0 it stays.
func newPowered(t *testing.T, spec engines.AppendSpec, dir string, seed uint64, at int) *powered {
	root := filepath.Join(dir, "data")
	p := &powered{test: t, record: filepath.Join(dir, "record")}
	var err error
	if p.recorder, err = powercut.Start(powercut.Options{Dir: p.record, Roots: []string{root}}); err != nil {
		t.Fatal(err)
	}
	faulty := vfs.NewFaulty(p.recorder)
	faulty.Descriptors = true
	w := newWorld(stopper{t})
	w.fs, w.dir = faulty, filepath.Join(root, "topic-0")
	w.o.Append = spec
	p.session = newSession(w, seed)
	faulty.OnCall(func(op vfs.Op, _ string) error {
		if !changes(op) {
			return nil
		}
		if p.calls++; at > 0 && p.calls >= at {
			return errPowerCut
		}
		return nil
	})
	return p
}

// run does operations until the power goes, and returns how many calls that were.
func (p *powered) run(operations int) int {
	p.test.Helper()
	func() {
		defer func() {
			switch e := recover().(type) {
			case nil:
			case stopped:
				if !errors.Is(p.powerless(), errPowerCut) {
					p.test.Fatal(string(e))
				}
			default:
				panic(e)
			}
		}()
		p.open()
		for range operations {
			p.step()
		}
	}()
	if p.Log != nil {
		_ = p.Close() // It has no power either.
	}
	if err := p.recorder.Close(); err != nil {
		p.test.Fatal(err)
	}
	return p.calls
}

// powerless is errPowerCut once the power is gone.
func (p *powered) powerless() error {
	_, err := p.fs.Create(filepath.Join(filepath.Dir(p.dir), "probe"))
	return err
}

// cut makes the files what the record lets a disk hold and recovers the log.
func (p *powered) cut(o powercut.CutOptions) *session {
	p.test.Helper()
	p.cutOnly(o)
	p.t = p.test
	if _, err := os.Stat(p.dir); errors.Is(err, os.ErrNotExist) && p.synced > 0 {
		p.test.Fatal("the log's directory is gone")
	}
	return p.recovered(vfs.OS{}, o.Seed)
}

func (p *powered) cutOnly(o powercut.CutOptions) {
	p.test.Helper()
	record, err := powercut.Open(p.record)
	if err != nil {
		p.test.Fatal(err)
	}
	_, err = record.Cut(o)
	if err := errors.Join(err, record.Close()); err != nil {
		p.test.Fatal(err)
	}
}

// stopper turns the end of a test into a panic that powered catches.
type stopper struct{ rapid.TB }

type stopped string

// Fatal implements rapid.TB.
func (stopper) Fatal(args ...any) { panic(stopped("fatal")) }

// Fatalf implements rapid.TB.
func (stopper) Fatalf(format string, args ...any) { panic(stopped(format)) }
