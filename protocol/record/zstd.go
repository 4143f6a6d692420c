package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/klauspost/compress/zstd"

	"tidemark/internal/invariant"
)

// A zstd frame states how far back it refers, its window, and a decoder needs a
// buffer of that size before the first byte. The statement costs an attacker a
// byte, and is also far too large in honest frames: Java's producer at level 22
// announces 128 MiB for a batch of any size. What a frame can really hold is
// bounded by its blocks, 128 KiB each, so the frames are walked first and the
// smaller of the two counts.
const (
	// zstdPooledWindow is the largest window of a decoder that is kept. Levels
	// up to 19 need no more.
	zstdPooledWindow = 8 << 20
	// zstdMaxWindow is the largest window that is decoded at all.
	zstdMaxWindow = 32 << 20

	zstdBlockBytes    = 128 << 10
	zstdFrameMagic    = 0xFD2FB528
	zstdSkippableMask = 0xFFFFFFF0
	zstdSkippable     = 0x184D2A50
)

// zstdLarge is taken by the one payload at a time whose window is over
// zstdPooledWindow, from reset to release.
var zstdLarge = make(chan struct{}, 1)

var errZstdFrame = errors.New("malformed zstd frame")

type zstdDecoder struct {
	in     bytes.Reader
	pooled *zstd.Decoder
	large  *zstd.Decoder // set for one payload with a large window
	locked bool          // zstdLarge is taken
}

func (d *zstdDecoder) reset(payload []byte, _ int64) error {
	window, needed, err := zstdWindows(payload)
	if err != nil {
		return err
	}
	if needed > zstdMaxWindow {
		return fmt.Errorf("zstd window of %d bytes: %w", needed, ErrTooLarge)
	}
	if window > zstdPooledWindow {
		payload, window = zstdClampWindows(payload, needed)
	}
	d.in.Reset(payload)
	dec := &d.pooled
	if window > zstdPooledWindow {
		zstdLarge <- struct{}{}
		d.locked = true
		dec = &d.large
	}
	if *dec == nil {
		*dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(zstdMaxWindow))
		if err != nil {
			return err
		}
	}
	return (*dec).Reset(&d.in)
}

// Read decompresses into p.
func (d *zstdDecoder) Read(p []byte) (int, error) {
	if d.large != nil {
		return d.large.Read(p)
	}
	return d.pooled.Read(p)
}

func (d *zstdDecoder) release() {
	d.in.Reset(nil)
	if d.large != nil {
		d.large.Close()
		d.large = nil
	} else if d.pooled != nil {
		// Resetting to no input only drops references, it has no error.
		_ = d.pooled.Reset(nil)
	}
	if d.locked {
		d.locked = false
		<-zstdLarge
	}
}

// zstdWindows walks the frames of a payload and returns the largest window that
// one announces, and the largest that one can need.
func zstdWindows(payload []byte) (announced, needed int64, err error) {
	for at := 0; at < len(payload); {
		f, err := parseZstdFrame(payload, at)
		if err != nil {
			return 0, 0, err
		}
		announced = max(announced, f.window)
		needed = max(needed, min(f.window, f.content))
		at = f.end
	}
	return announced, needed, nil
}

// zstdClampWindows returns a copy of a payload whose frames announce no larger
// window than needed, rounded up to a power of two, and that window.
func zstdClampWindows(payload []byte, needed int64) ([]byte, int64) {
	payload = bytes.Clone(payload)
	log := max(bits.Len64(uint64(max(needed, 1)-1)), zstdMinWindowLog)
	for at := 0; at < len(payload); {
		f, err := parseZstdFrame(payload, at)
		invariant.Check(err == nil, "zstd frame at %d was well-formed a moment ago: %v", at, err)
		if f.windowAt > 0 && f.window > int64(1)<<log {
			payload[f.windowAt] = byte(log-zstdMinWindowLog) << 3
		}
		at = f.end
	}
	return payload, int64(1) << log
}

// zstdMinWindowLog is the exponent that the window descriptor counts from.
const zstdMinWindowLog = 10

type zstdFrame struct {
	window   int64 // as announced; the content size in a single-segment frame
	windowAt int   // where the descriptor is; 0 if there is none
	content  int64 // most that the blocks can hold
	end      int   // of the frame in the payload
}

// parseZstdFrame reads the headers of the frame at payload[at:] and of its
// blocks (RFC 8878).
func parseZstdFrame(payload []byte, at int) (f zstdFrame, err error) {
	p := payload[at:]
	if len(p) < 6 {
		return f, errZstdFrame
	}
	magic := binary.LittleEndian.Uint32(p)
	if magic&zstdSkippableMask == zstdSkippable {
		if len(p) < 8 || int64(binary.LittleEndian.Uint32(p[4:])) > int64(len(p)-8) {
			return f, errZstdFrame
		}
		f.end = at + 8 + int(binary.LittleEndian.Uint32(p[4:]))
		return f, nil
	}
	if magic != zstdFrameMagic {
		return f, errZstdFrame
	}
	descriptor := p[4]
	n := 5
	single := descriptor&(1<<5) != 0
	if !single {
		w := p[n]
		base := int64(1) << (zstdMinWindowLog + w>>3)
		f.window = base + base/8*int64(w&7)
		f.windowAt = at + n
		n++
	}
	n += [...]int{0, 1, 2, 4}[descriptor&3] // dictionary id
	size := [...]int{0, 2, 4, 8}[descriptor>>6]
	if single && size == 0 {
		size = 1
	}
	if len(p) < n+size {
		return f, errZstdFrame
	}
	if single {
		f.window = zstdContentSize(p[n : n+size])
	}
	n += size
	end, content, err := walkZstdBlocks(p, n)
	if err != nil {
		return f, err
	}
	if descriptor&(1<<2) != 0 { // checksum
		end += 4
	}
	if end > len(p) {
		return f, errZstdFrame
	}
	f.content, f.end = content, at+end
	if single && f.window > content {
		return f, errZstdFrame
	}
	return f, nil
}

func zstdContentSize(p []byte) int64 {
	switch len(p) {
	case 1:
		return int64(p[0])
	case 2:
		return int64(binary.LittleEndian.Uint16(p)) + 256
	case 4:
		return int64(binary.LittleEndian.Uint32(p))
	default:
		// A size beyond int64 is as wrong as the largest one.
		return int64(min(binary.LittleEndian.Uint64(p), 1<<62))
	}
}

// walkZstdBlocks steps over the blocks at p[at:] and returns where they end and
// the most bytes that they can hold.
func walkZstdBlocks(p []byte, at int) (end int, content int64, err error) {
	for last := false; !last; {
		if len(p)-at < 3 {
			return 0, 0, errZstdFrame
		}
		h := uint32(p[at]) | uint32(p[at+1])<<8 | uint32(p[at+2])<<16
		at += 3
		last = h&1 != 0
		size := int(h >> 3)
		switch h >> 1 & 3 {
		case 0: // raw
			at += size
			content += int64(size)
		case 1: // one byte, repeated
			at++
			content += int64(size)
		case 2: // compressed
			at += size
			content += zstdBlockBytes
		default:
			return 0, 0, errZstdFrame
		}
		if at > len(p) {
			return 0, 0, errZstdFrame
		}
	}
	return at, content, nil
}
