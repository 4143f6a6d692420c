package record

import "testing"

// TestAllocations pins what the data path may allocate. Pools are emptied by
// the collector at times, hence the runs and the rounding of AllocsPerRun.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("pools forget at random under the race detector")
	}
	es := fixed(600)
	for _, c := range allCodecs {
		b := build(c, es)
		v := openValidation()
		check := func() {
			if _, err := v.Check(b); err != nil {
				t.Fatal(err)
			}
		}
		check()
		most := 0.0
		switch c {
		case Gzip:
			most = 2 // the inflater's tables, now and then
		case LZ4:
			most = 3 // the frame reader's own
		}
		if n := testing.AllocsPerRun(200, check); n > most {
			t.Errorf("checking a %v batch of %d records: %v allocations, want at most %v", c, len(es), n, most)
		}
		var rec Record
		readAll := func() {
			r, err := b.Records(Limits{})
			if err != nil {
				t.Fatal(err)
			}
			for r.Next(&rec) {
			}
			r.Close()
		}
		readAll()
		if n := testing.AllocsPerRun(200, readAll); n > most {
			t.Errorf("reading a %v batch of %d records: %v allocations, want at most %v", c, len(es), n, most)
		}
		w := NewBuilder(c, DefaultLevel)
		var out []byte
		fill := func() {
			for i := range es {
				w.Append(es[i].ts, nil, es[i].value, nil)
			}
			out = w.AppendTo(out[:0])
		}
		fill()
		fill()
		if n := testing.AllocsPerRun(50, fill); n > most {
			t.Errorf("building a %v batch of %d records: %v allocations, want at most %v", c, len(es), n, most)
		}
	}
}

// TestPatchAllocations covers what an append does to a batch in place.
func TestPatchAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("pools forget at random under the race detector")
	}
	b := build(None, fixed(600))
	if n := testing.AllocsPerRun(100, func() {
		p, _, err := Parse(b)
		if err != nil || p.CheckCRC() != nil {
			t.Fatal(err)
		}
		p.SetBaseOffset(4)
		p.SetLeaderEpoch(2)
		p.SetLogAppendTime(testNow)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
