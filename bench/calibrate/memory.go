package calibrate

import (
	"hash/crc32"
	"math/rand/v2"
	"time"

	"tidemark/bench/result"
	"tidemark/bench/schedule"
	"tidemark/protocol/record"
)

var memoryLimits = []limit{
	{result.LimitMemcpy, "copy of 64 MiB, past every cache", result.UnitBytesPerS, memcpy},
	{result.LimitCRC32C, "CRC32C of 64 KiB blocks", result.UnitBytesPerS, checksum},
}

var timerLimits = []limit{
	{result.LimitTimerOvershoot, "how late a runtime timer of 100 µs wakes", result.UnitNs, sleepTimer},
	{result.LimitPacerOvershoot, "how late the harness's pacer wakes after 100 µs", result.UnitNs, paceTimer},
}

func memcpy(_ string, each time.Duration) (sampler, error) {
	from, to := make([]byte, 64<<20), make([]byte, 64<<20)
	copy(to, from) // fault both in
	return throughput(each, func() (int, error) { return copy(to, from), nil }, nil), nil
}

func checksum(_ string, each time.Duration) (sampler, error) {
	table := crc32.MakeTable(crc32.Castagnoli)
	block := make([]byte, 64<<10)
	var sum uint32
	return throughput(each, func() (int, error) {
		for range 16 {
			sum = crc32.Update(sum, table, block)
		}
		return 16 * len(block), nil
	}, nil), nil
}

func sleepTimer(_ string, each time.Duration) (sampler, error) {
	return timing(each, func() (time.Duration, error) {
		began := time.Now()
		time.Sleep(100 * time.Microsecond)
		return time.Since(began) - 100*time.Microsecond, nil
	}, nil), nil
}

func paceTimer(_ string, each time.Duration) (sampler, error) {
	p := schedule.NewPacer()
	return timing(each, func() (time.Duration, error) {
		due := schedule.Now() + 100_000
		return time.Duration(p.Wait(due) - due), nil
	}, func() error { p.Close(); return nil }), nil
}

var codecLimits = codecs()

func codecs() (out []limit) {
	for _, c := range []struct {
		codec                record.Codec
		compress, decompress string
	}{
		{record.Gzip, result.LimitGzipCompress, result.LimitGzipDecompress},
		{record.Snappy, result.LimitSnappyCompress, result.LimitSnappyDecompress},
		{record.LZ4, result.LimitLZ4Compress, result.LimitLZ4Decompress},
		{record.Zstd, result.LimitZstdCompress, result.LimitZstdDecompress},
	} {
		out = append(out,
			limit{c.compress, c.codec.String() + " compression of 64 KiB batches, half random, uncompressed bytes", result.UnitBytesPerS, compressing(c.codec)},
			limit{c.decompress, c.codec.String() + " decompression of the same, uncompressed bytes", result.UnitBytesPerS, decompressing(c.codec)})
	}
	return out
}

// build encodes one batch of about 64 KiB with the benches' usual payload.
func build(b *record.Builder) (batch record.Batch, plain int) {
	random := rand.NewChaCha8([32]byte{1})
	value := make([]byte, 100)
	for b.Size() < 64<<10-120 {
		_, _ = random.Read(value[:50]) // never fails
		b.Append(0, nil, value, nil)
	}
	plain = b.Size()
	return b.Build(), plain
}

func compressing(c record.Codec) func(string, time.Duration) (sampler, error) {
	return func(_ string, each time.Duration) (sampler, error) {
		plainBatch, plain := build(record.NewBuilder(record.None, record.DefaultLevel))
		return throughput(each, func() (int, error) {
			_, err := record.Recompress(plainBatch, c, record.DefaultLevel, record.Limits{})
			return plain, err
		}, nil), nil
	}
}

func decompressing(c record.Codec) func(string, time.Duration) (sampler, error) {
	return func(_ string, each time.Duration) (sampler, error) {
		batch, plain := build(record.NewBuilder(c, record.DefaultLevel))
		return throughput(each, func() (int, error) {
			r, err := batch.Records(record.Limits{})
			if err != nil {
				return 0, err
			}
			defer r.Close()
			var rec record.Record
			for r.Next(&rec) {
			}
			return plain, r.Err()
		}, nil), nil
	}
}
