package zkserver

import (
	"fmt"
	"sync"
	"testing"

	"tidemark/coordinator/zkserver/jute"
	"tidemark/internal/vfs"
)

// BenchmarkSet measures acknowledged writes of 100 bytes, each on stable storage
// before its reply, with so many clients that each wait for their own. "memory"
// leaves the disk out.
func BenchmarkSet(b *testing.B) {
	for _, clients := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("disk/clients=%d", clients), func(b *testing.B) {
			s := startEmbedded(b, Options{FS: vfs.OS{}, Dir: b.TempDir()})
			benchmarkSet(b, s.Addr().String(), clients)
		})
	}
	b.Run("memory/clients=8", func(b *testing.B) {
		benchmarkSet(b, startEmbedded(b, Options{}).Addr().String(), 8)
	})
	for _, clients := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("zookeeper/clients=%d", clients), func(b *testing.B) {
			benchmarkSet(b, sharedZooKeeper(b), clients)
		})
	}
}

func benchmarkSet(b *testing.B, addr string, clients int) {
	var work sync.WaitGroup
	per := b.N/clients + 1
	conns := make([]*rawClient, clients)
	for i := range conns {
		conns[i] = newRawClient(b, addr)
		conns[i].connect(30_000)
		conns[i].do(opCreate, create(fmt.Sprintf("/bench%d", i), 1))
	}
	data := make([]byte, 100)
	b.ResetTimer()
	for i, c := range conns {
		path := fmt.Sprintf("/bench%d", i)
		work.Go(func() {
			for range per {
				xid := c.send(opSetData, func(w *jute.Writer) { w.String(path); w.Buffer(data); w.Int32(-1) })
				if code, _, err := c.receive(xid); code != 0 || err != nil {
					b.Error(code, err)
					return
				}
			}
		})
	}
	work.Wait()
	b.StopTimer()
	b.ReportMetric(float64(per*clients)/b.Elapsed().Seconds(), "writes/s")
	for _, c := range conns {
		c.do(opClose, nil)
	}
}

// BenchmarkGet measures reads of 100 bytes, one at a time.
func BenchmarkGet(b *testing.B) {
	c := newRawClient(b, startEmbedded(b, Options{}).Addr().String())
	c.connect(30_000)
	c.do(opCreate, create("/get", 0))
	b.ReportAllocs()
	for b.Loop() {
		if code, _ := c.do(opGetData, pathAndWatch("/get")); code != 0 {
			b.Fatal(code)
		}
	}
}
