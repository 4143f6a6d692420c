package record

import (
	"fmt"
	"testing"
)

// BenchmarkCheck is validation of batches of the product's benchmark records:
// by header alone, which is the checksum, and by records.
func BenchmarkCheck(b *testing.B) {
	for _, size := range []struct {
		name    string
		records int
	}{{"16KiB", 150}, {"64KiB", 598}, {"1MiB", 9530}} {
		for _, c := range allCodecs {
			batch := build(c, fixed(size.records))
			plain := int64(len(build(None, fixed(size.records))))
			for _, mode := range []Mode{HeaderOnly, Records} {
				name := map[Mode]string{HeaderOnly: "header", Records: "records"}[mode]
				b.Run(fmt.Sprintf("%s/%v/%s", size.name, c, name), func(b *testing.B) {
					v := openValidation()
					v.Mode = mode
					b.SetBytes(plain)
					b.ReportAllocs()
					for b.Loop() {
						if _, err := v.Check(batch); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size.records), "ns/record")
				})
			}
		}
	}
}

// BenchmarkScan is the scanner without the checksum.
func BenchmarkScan(b *testing.B) {
	const records = 598
	batch := build(None, fixed(records))
	v := openValidation()
	b.SetBytes(int64(len(batch)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := scanBatch(batch, v.recordRules(batch), v.Limits); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/records, "ns/record")
}

// BenchmarkBuild is what a driver pays for a batch of 64 KiB.
func BenchmarkBuild(b *testing.B) {
	es := fixed(598)
	for _, c := range allCodecs {
		b.Run(c.String(), func(b *testing.B) {
			w := NewBuilder(c, DefaultLevel)
			var out []byte
			b.SetBytes(int64(len(build(None, es))))
			b.ReportAllocs()
			for b.Loop() {
				for i := range es {
					w.Append(es[i].ts, nil, es[i].value, nil)
				}
				out = w.AppendTo(out[:0])
			}
		})
	}
}

// BenchmarkRead is a walk over all records.
func BenchmarkRead(b *testing.B) {
	for _, c := range allCodecs {
		b.Run(c.String(), func(b *testing.B) {
			batch := build(c, fixed(598))
			b.SetBytes(int64(len(build(None, fixed(598)))))
			b.ReportAllocs()
			var rec Record
			for b.Loop() {
				r, err := batch.Records(Limits{})
				if err != nil {
					b.Fatal(err)
				}
				for r.Next(&rec) {
				}
				if r.Err() != nil {
					b.Fatal(r.Err())
				}
				r.Close()
			}
		})
	}
}
