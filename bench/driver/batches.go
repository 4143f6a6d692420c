package driver

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"tidemark/bench/workload"
	"tidemark/internal/hugepage"
	"tidemark/protocol/record"
)

// pool is a set of pre-encoded batches that a partition's sends go through in
// order, so that the n-th send of any partition is batches[n % len]. It is
// read-only after newPool.
type pool struct {
	batches [][]byte
	// records is the same in every batch.
	records int64
	// plainBytes is the uncompressed size of a batch.
	plainBytes int64
}

// poolBytes is about how much a pool takes: past the processor's second-level
// cache, so that payloads come from memory as an application's would.
const poolBytes = 4 << 20

// newPool encodes batches of the load's records.
func newPool(l workload.Load, seed uint64) (*pool, error) {
	codec, err := record.ParseCodec(l.Compression)
	if err != nil {
		return nil, err
	}
	values := newValues(l, seed)
	records, plain := batchRecords(l)
	p := &pool{records: int64(records), plainBytes: int64(plain)}
	count := min(16, max(2, poolBytes/max(1, plain)))
	now := time.Now().UnixMilli()
	b := record.NewBuilder(codec, record.DefaultLevel)
	for range count {
		for range records {
			b.Append(now, nil, values.next(), nil)
		}
		p.batches = append(p.batches, b.Build())
	}
	p.gather()
	return p, nil
}

// gather moves the batches into one piece of memory in huge pages: they are copied to
// sockets all the time, and what that costs a generator is lost to the target.
func (p *pool) gather() {
	all := slices.Concat(p.batches...)
	hugepage.Under(all)
	for i, b := range p.batches {
		p.batches[i], all = all[:len(b):len(b)], all[len(b):]
	}
}

// batchRecords finds how many records fit the batch size, and their bytes.
func batchRecords(l workload.Load) (records, plainBytes int) {
	b := record.NewBuilder(record.None, record.DefaultLevel)
	value := make([]byte, l.RecordBytes)
	for {
		if l.BatchRecords > 0 && b.Count() == l.BatchRecords ||
			l.BatchRecords == 0 && b.Count() > 0 && b.SizeWith(0, -1, len(value)) > l.BatchBytes {
			return b.Count(), b.Size()
		}
		b.Append(0, nil, value, nil)
	}
}

// at is the batch of a partition's n-th send.
func (p *pool) at(n int64) []byte { return p.batches[n%int64(len(p.batches))] }

// meanWire is the mean size of a batch on the wire.
func (p *pool) meanWire() int64 {
	var sum int64
	for _, b := range p.batches {
		sum += int64(len(b))
	}
	return sum / int64(len(p.batches))
}

// walk tells how many records the n bytes hold that begin with the first batch of send
// first, and fails when they do not end with a batch.
func (p *pool) walk(first, n int64) (records int64, err error) {
	rest := n
	for i := first; rest > 0; i++ {
		rest -= int64(len(p.at(i)))
		records += p.records
	}
	if rest < 0 {
		return 0, fmt.Errorf("%d bytes from batch %d on do not end with a batch", n, first)
	}
	return records, nil
}

func (p *pool) unit() Unit {
	wire := p.meanWire()
	return Unit{Records: p.records, Wire: wire, CompressPermil: wire * 1000 / p.plainBytes, LatencyOf: "batch"}
}

// values makes record values of a given share of random bytes: each is a random
// prefix followed by a repeating tail, so that a codec has something to find.
type values struct {
	random *rand.ChaCha8
	size   int
	noise  int
}

func newValues(l workload.Load, seed uint64) *values {
	var key [32]byte
	for i := range 8 {
		key[i] = byte(seed >> (8 * i))
	}
	return &values{random: rand.NewChaCha8(key), size: l.RecordBytes, noise: int(float64(l.RecordBytes)*l.Entropy + 0.5)}
}

// next returns a new value, owned by the caller.
func (v *values) next() []byte {
	b := make([]byte, v.size)
	_, _ = v.random.Read(b[:v.noise]) // ChaCha8.Read never fails
	for i := v.noise; i < v.size; i++ {
		b[i] = "tidemark"[i&7]
	}
	return b
}
