package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/pierrec/lz4/v4"
)

// DefaultDecompressedBytes is the limit of Limits where none is given.
const DefaultDecompressedBytes = 128 << 20

// Limits bounds what reading a batch may cost.
type Limits struct {
	// DecompressedBytes is the most that a batch may decompress to; 0 means
	// DefaultDecompressedBytes. Going over it is ErrTooLarge.
	DecompressedBytes int64
}

func (l Limits) decompressedBytes() int64 {
	if l.DecompressedBytes == 0 {
		return DefaultDecompressedBytes
	}
	return l.DecompressedBytes
}

// decoder decompresses one payload after another. Between reset and release it
// is confined to one goroutine. Its Read fails with ErrTooLarge where the codec
// must be refused before its output is known.
type decoder interface {
	io.Reader
	reset(payload []byte, limit int64) error
	release()
}

// decoders holds idle decoders by codec. They are few: at most one for each
// batch that is read at the same time.
var decoders [Zstd + 1]sync.Pool

func newDecoder(c Codec) decoder {
	switch c {
	case Gzip:
		return &gzipDecoder{}
	case Snappy:
		return &snappyDecoder{}
	case LZ4:
		return &lz4Decoder{lz4: lz4.NewReader(nil)}
	case Zstd:
		return &zstdDecoder{}
	default:
		return nil
	}
}

// source is the decompressed stream of one batch, which ends in an error when
// it runs over its limit.
type source struct {
	codec Codec
	dec   decoder
	left  int64 // bytes that may still come
}

// open starts on a payload of a codec other than None.
func (s *source) open(c Codec, payload []byte, limit int64) error {
	if !c.Valid() {
		return fmt.Errorf("%v: %w", c, ErrUnsupportedCodec)
	}
	dec, _ := decoders[c].Get().(decoder)
	if dec == nil {
		dec = newDecoder(c)
	}
	*s = source{codec: c, dec: dec, left: limit}
	if err := dec.reset(payload, limit); err != nil {
		s.close()
		return s.wrap(err)
	}
	return nil
}

// maxEmptyReads is how often a decoder may return neither bytes nor error.
const maxEmptyReads = 100

// Read decompresses into p, which is not empty, and returns bytes or an error.
func (s *source) Read(p []byte) (n int, err error) {
	if int64(len(p)) > s.left+1 {
		p = p[:s.left+1]
	}
	for empty := 0; n == 0 && err == nil; empty++ {
		if empty == maxEmptyReads {
			err = io.ErrNoProgress
			break
		}
		n, err = s.dec.Read(p)
	}
	s.left -= int64(n)
	if s.left < 0 {
		return 0, fmt.Errorf("%v data is over the limit of decompressed bytes: %w", s.codec, ErrTooLarge)
	}
	if err != nil && err != io.EOF {
		return n, s.wrap(err)
	}
	return n, err
}

func (s *source) wrap(err error) error {
	if errors.Is(err, ErrTooLarge) {
		return fmt.Errorf("decompress %v: %w", s.codec, err)
	}
	return fmt.Errorf("decompress %v: %w: %w", s.codec, ErrInvalidRecord, err)
}

func (s *source) close() {
	if s.dec != nil {
		s.dec.release()
		decoders[s.codec].Put(s.dec)
		s.dec = nil
	}
}

type gzipDecoder struct {
	in   bytes.Reader
	gzip gzip.Reader
}

func (d *gzipDecoder) reset(payload []byte, _ int64) error {
	d.in.Reset(payload)
	return d.gzip.Reset(&d.in)
}

func (d *gzipDecoder) Read(p []byte) (int, error) { return d.gzip.Read(p) }
func (d *gzipDecoder) release()                   { d.in.Reset(nil) }

type lz4Decoder struct {
	in  bytes.Reader
	lz4 *lz4.Reader
}

// lz4FrameMagic starts the frames that Kafka's clients write. The legacy frame
// and the skippable one are refused, as Java's KafkaLZ4BlockInputStream does.
const lz4FrameMagic = 0x184D2204

var errLZ4Magic = errors.New("not an lz4 frame")

func (d *lz4Decoder) reset(payload []byte, _ int64) error {
	if len(payload) < 4 || binary.LittleEndian.Uint32(payload) != lz4FrameMagic {
		return errLZ4Magic
	}
	d.in.Reset(payload)
	d.lz4.Reset(&d.in)
	return nil
}

func (d *lz4Decoder) Read(p []byte) (int, error) { return d.lz4.Read(p) }

func (d *lz4Decoder) release() {
	d.in.Reset(nil)
	d.lz4.Reset(&d.in)
}
