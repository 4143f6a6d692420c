package record

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"
)

// recompressor holds what Recompress needs at one codec and level.
type recompressor struct {
	codec      Codec
	level      int
	compressor compressor
	plain      []byte
}

// recompressors are idle ones of any codec and level. A broker uses few: one
// that does not fit is dropped.
var recompressors sync.Pool

func getRecompressor(c Codec, level int) *recompressor {
	if r, _ := recompressors.Get().(*recompressor); r != nil && r.codec == c && r.level == level {
		return r
	}
	return &recompressor{codec: c, level: level, compressor: newCompressor(c, level)}
}

// Recompress returns the batch with its records compressed by c, in memory of
// its own, and everything else as it is in b (Kafka's compression.type of a
// topic). The records are not looked at: check b first. A batch that has the
// codec already is returned as it is.
func Recompress(b Batch, c Codec, level int, l Limits) (Batch, error) {
	if b.Codec() == c {
		return b, nil
	}
	if !c.Valid() {
		return nil, fmt.Errorf("compress with %v: %w", c, ErrUnsupportedCodec)
	}
	r := getRecompressor(c, level)
	defer func() {
		if cap(r.plain) <= keepWindowBytes {
			recompressors.Put(r)
		}
	}()
	plain := b.Payload()
	if b.Codec() != None {
		var err error
		if r.plain, err = appendDecompressed(r.plain[:0], b, l); err != nil {
			return nil, err
		}
		plain = r.plain
	}
	out := append(make([]byte, 0, HeaderSize+len(plain)/2), b[:HeaderSize]...)
	if r.compressor == nil {
		out = append(out, plain...)
	} else {
		out = r.compressor.compress(out, plain)
	}
	return Batch(out).finishRecompressed(c), nil
}

// finishRecompressed makes the header fit the new payload.
func (b Batch) finishRecompressed(c Codec) Batch {
	binary.BigEndian.PutUint32(b[atLength:], uint32(len(b)-LogOverhead))
	b[atAttributes+1] = b[atAttributes+1]&^codecMask | byte(c)
	b.updateCRC()
	return b
}

// appendDecompressed appends the records of a compressed batch to dst.
func appendDecompressed(dst []byte, b Batch, l Limits) ([]byte, error) {
	var src source
	if err := src.open(b.Codec(), b.Payload(), l.decompressedBytes()); err != nil {
		return dst, err
	}
	defer src.close()
	for {
		if len(dst) == cap(dst) {
			dst = append(dst, make([]byte, max(len(dst), windowBytes))...)[:len(dst)]
		}
		n, err := src.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}
