package record

import (
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"tidemark/internal/invariant"
)

// compressor compresses payloads with one codec at one level. It is confined to
// one goroutine.
type compressor interface {
	// compress appends src, compressed, to dst.
	compress(dst, src []byte) []byte
}

// newCompressor takes a level within c.Levels(), or DefaultLevel. A level
// outside is taken as the nearest one inside.
func newCompressor(c Codec, level int) compressor {
	lowest, highest, byDefault, _ := c.Levels()
	if level == DefaultLevel {
		level = byDefault
	}
	level = min(max(level, lowest), highest)
	switch c {
	case Gzip:
		w, err := gzip.NewWriterLevel(nil, level)
		invariant.Check(err == nil, "gzip level %d: %v", level, err)
		return &gzipCompressor{w: w}
	case Snappy:
		return &snappyCompressor{}
	case LZ4:
		return newLZ4Compressor(level)
	case Zstd:
		w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
			zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)))
		invariant.Check(err == nil, "zstd level %d: %v", level, err)
		return &zstdCompressor{w: w}
	default:
		return nil
	}
}

// sink is an io.Writer that appends.
type sink struct{ b []byte }

func (s *sink) Write(p []byte) (int, error) {
	s.b = append(s.b, p...)
	return len(p), nil
}

type gzipCompressor struct {
	w    *gzip.Writer
	sink sink
}

func (g *gzipCompressor) compress(dst, src []byte) []byte {
	g.sink.b = dst
	g.w.Reset(&g.sink)
	_, err := g.w.Write(src)
	invariant.Check(err == nil, "gzip into memory: %v", err)
	err = g.w.Close()
	invariant.Check(err == nil, "gzip into memory: %v", err)
	dst, g.sink.b = g.sink.b, nil
	return dst
}

type snappyCompressor struct{ scratch []byte }

func (s *snappyCompressor) compress(dst, src []byte) []byte {
	dst, s.scratch = appendXerial(dst, src, s.scratch)
	return dst
}

// lz4Compressor writes frames as Java's KafkaLZ4BlockOutputStream does:
// independent blocks of 64 KiB, no checksum of the content.
type lz4Compressor struct {
	w    *lz4.Writer
	sink sink
}

func newLZ4Compressor(level int) *lz4Compressor {
	// Kafka's default level stands for the fast compressor, like Java's; other
	// levels are for the thorough one, which has nine here.
	l := lz4.Fast
	if _, _, byDefault, _ := LZ4.Levels(); level != byDefault {
		l = lz4.CompressionLevel(1 << (8 + min(level, 9)))
	}
	c := &lz4Compressor{w: lz4.NewWriter(nil)}
	err := c.w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false), lz4.CompressionLevelOption(l))
	invariant.Check(err == nil, "lz4 level %d: %v", level, err)
	return c
}

func (l *lz4Compressor) compress(dst, src []byte) []byte {
	l.sink.b = dst
	l.w.Reset(&l.sink)
	_, err := l.w.Write(src)
	invariant.Check(err == nil, "lz4 into memory: %v", err)
	err = l.w.Close()
	invariant.Check(err == nil, "lz4 into memory: %v", err)
	dst, l.sink.b = l.sink.b, nil
	return dst
}

type zstdCompressor struct{ w *zstd.Encoder }

func (z *zstdCompressor) compress(dst, src []byte) []byte { return z.w.EncodeAll(src, dst) }
