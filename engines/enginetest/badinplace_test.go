package enginetest

import (
	"testing"

	"tidemark/engines"
	"tidemark/engines/append/buffered"
)

// lender is a right engine that lends memory of its own and appends it when it is
// published; the badness is in the functions, which replace a right part of it.
type lender struct {
	engines.Appender
	file   engines.File
	memory []byte
	failed error

	reserve func(l *lender, n int64) ([]byte, error)
	publish func(l *lender) (int64, error)
	abandon func(l *lender)
	size    func(l *lender) int64
}

func (l *lender) Reserve(n int64) ([]byte, error) {
	if l.reserve != nil {
		return l.reserve(l, n)
	}
	if l.failed != nil {
		return nil, l.failed
	}
	l.memory = make([]byte, n)
	return l.memory, nil
}

func (l *lender) Publish() (int64, error) {
	if l.publish != nil {
		return l.publish(l)
	}
	memory := l.memory
	l.memory = nil
	return l.Append([][]byte{memory})
}

func (l *lender) Abandon() {
	if l.abandon != nil {
		l.abandon(l)
	}
	l.memory = nil
}

func (l *lender) Flush() error {
	if err := l.Appender.Flush(); err != nil {
		l.failed = err
	}
	return l.failed
}

func (l *lender) Size() int64 {
	if l.size != nil {
		return l.size(l)
	}
	return l.Appender.Size()
}

func lending(plant func(l *lender)) engines.AppendSpec {
	return engines.AppendSpec{Name: "lender", Open: func(f engines.File, size int64, o engines.AppendOptions) (engines.Appender, error) {
		a, err := buffered.Spec().Open(f, size, o)
		if err != nil {
			return nil, err
		}
		l := &lender{Appender: a, file: f}
		plant(l)
		return l, nil
	}}
}

// badLenders are faults and the clause that must catch each.
var badLenders = []struct {
	name, clause string
	plant        func(l *lender)
}{
	{"lends what it lent before", "lent-zeros", func(l *lender) {
		used := make([]byte, 1<<20)
		l.reserve = func(l *lender, n int64) ([]byte, error) {
			l.memory = used[:n]
			return l.memory, nil
		}
	}},
	{"counts what it lends", "lent-hidden", func(l *lender) {
		l.size = func(l *lender) int64 { return l.Appender.Size() + int64(len(l.memory)) }
	}},
	{"publishes the end alone", "published", func(l *lender) {
		ends := int64(0)
		l.publish = func(l *lender) (int64, error) {
			position := l.Appender.Size() + ends
			ends += int64(len(l.memory))
			l.memory = nil
			return position, nil
		}
		l.size = func(l *lender) int64 { return l.Appender.Size() + ends }
	}},
	{"leaves what was abandoned", "abandoned", func(l *lender) {
		l.abandon = func(l *lender) {
			if _, err := l.file.WriteAt(l.memory, l.Appender.Size()); err != nil {
				panic(err)
			}
		}
	}},
	{"fails where it should refuse", "loans-beside-appends", func(l *lender) {
		l.reserve = func(l *lender, n int64) ([]byte, error) {
			if l.Appender.Size() > 16<<20 {
				return nil, errNoRoom
			}
			l.memory = make([]byte, n)
			return l.memory, nil
		}
	}},
	{"believes in the end of the file", "lent-page-lost", func(l *lender) {
		l.publish = func(l *lender) (int64, error) {
			length, err := l.file.Size()
			if err == nil && length < l.Appender.Size()+int64(len(l.memory)) {
				err = errNoRoom
			}
			return l.Appender.Size(), err
		}
	}},
	{"lends after all is lost", "no-loan-after-failed-flush", func(l *lender) {
		l.reserve = func(l *lender, n int64) ([]byte, error) {
			l.memory = make([]byte, n)
			return l.memory, nil
		}
	}},
}

func TestBadLendersAreCaught(t *testing.T) {
	proved := map[string]bool{}
	for _, bad := range badLenders {
		t.Run(bad.name, func(t *testing.T) {
			spec := lending(bad.plant)
			wantCaught(t, run(bad.name, t.TempDir(), only(t, inPlaceClauses, bad.clause), func(dir string) appendBench {
				return appendBench{spec: spec, dir: dir}
			}))
		})
		proved[bad.clause] = true
	}
	wantAllProved(t, inPlaceClauses, proved)
}

// The engine without a fault keeps the contract: the clauses ask for no mapping.
func TestLenderWithMemoryOfItsOwn(t *testing.T) {
	if err := CheckInPlace(lending(func(*lender) {}), t.TempDir()); err != nil {
		t.Error(err)
	}
	if err := CheckInPlace(buffered.Spec(), t.TempDir()); err == nil {
		t.Error("an engine that lends nothing passes")
	}
}
