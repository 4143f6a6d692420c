package buffered

const (
	// zeroStep is how much is zeroed at a time, from one multiple of it to the
	// next.
	zeroStep = 64 << 10
	// zeroBelow is the size from which an append gets pages large enough by
	// itself: in a broker, zeros took a third off its processor time at 16 KiB
	// and nothing that can be told at 64 KiB.
	zeroBelow = 32 << 10
)

var zeros [zeroStep]byte

// makePresent writes zeros where bufs will lie, as far as the page cache has no
// pages there, up to the next multiple of zeroStep.
//
// A file system takes as large a piece of memory for new pages as the write and
// its position allow; an append that begins anywhere gets mostly single pages, and
// each of them is found, charged, given buffers and marked dirty by itself. Zeros
// in aligned pieces get one piece each, and the append then overwrites what is
// there. A file that stays small is left alone, as is one whose bytes are synced
// before they are acknowledged: every sync would write the zeros.
func (a *appender) makePresent(bufs [][]byte) {
	if a.exact || !a.vectored || a.size < minAhead {
		return
	}
	var n int64
	for _, buf := range bufs {
		n += int64(len(buf))
	}
	if n >= zeroBelow {
		return
	}
	end := a.size + n
	for from := max(a.zeroed, a.size); from < end; from = a.zeroed {
		to := min(from&^(zeroStep-1)+zeroStep, a.segmentBytes)
		if to <= from {
			return
		}
		// What cannot be written is left to the append, which tells; what was
		// written of it goes at Close.
		a.zeroed = to
		if _, err := a.file.WriteAt(zeros[:to-from], from); err != nil {
			return
		}
	}
}
