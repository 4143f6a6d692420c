package record

import (
	"fmt"
	"math"
)

// Mode is how deep validation goes.
type Mode int8

// The modes, as storage.validation names them.
const (
	// Records checks every record, decompressing if need be.
	Records Mode = iota
	// HeaderOnly checks the header and the checksum, and trusts the header for
	// the rest: above all for the largest timestamp, by which segments expire
	// and the time index finds records.
	HeaderOnly
)

// Validation is the rules that a batch must keep to be appended by a leader. It
// is immutable while in use; Check may run concurrently.
type Validation struct {
	Mode Mode
	// MaxMessageBytes bounds the batch as it comes (max.message.bytes); 0 means
	// no bound.
	MaxMessageBytes int
	// RequireKeys refuses records with a null key, as compacted topics do.
	RequireKeys bool
	// LogAppendTime says that the topic's broker stamps the batches, so that
	// the records' own timestamps are not judged.
	LogAppendTime bool
	// NowMs is the broker's clock. A record's timestamp may lie BeforeMaxMs
	// before and AfterMaxMs after it (message.timestamp.before.max.ms and
	// message.timestamp.after.max.ms); a negative number means any distance.
	NowMs                   int64
	BeforeMaxMs, AfterMaxMs int64
	Limits                  Limits
	// NoZstd refuses zstd, for Produce requests before version 7.
	NoZstd bool
	// FromCoordinator admits what a coordinator may write and a client may not:
	// control batches, and batches of a producer without sequences.
	FromCoordinator bool
}

// Summary is what Check has learnt of a batch.
type Summary struct {
	// MaxTimestamp is the largest timestamp: recomputed from the records in
	// mode Records, the header's in mode HeaderOnly, NowMs for log append time.
	MaxTimestamp int64
	// OffsetOfMax is the offset delta of the first record that has it; in mode
	// HeaderOnly, of the last record of the batch, which is not before it.
	OffsetOfMax int32
	Count       int32
}

// Check applies the rules to b as it came from a producer, in the order of
// Kafka's UnifiedLog.analyzeAndValidateRecords and LogValidator, and leaves b
// as it is. The error is of the class ErrTooLarge, ErrCorrupt,
// ErrUnsupportedCodec, ErrInvalidRecord or ErrInvalidTimestamp; ErrorsOf tells which records are to blame.
func (v *Validation) Check(b Batch) (Summary, error) {
	if v.MaxMessageBytes > 0 && b.Size() > v.MaxMessageBytes {
		return Summary{}, fmt.Errorf("batch of %d bytes is over max.message.bytes %d: %w",
			b.Size(), v.MaxMessageBytes, ErrTooLarge)
	}
	if err := b.CheckCRC(); err != nil {
		return Summary{}, err
	}
	if err := v.checkHeader(b); err != nil {
		return Summary{}, err
	}
	if v.Mode == HeaderOnly {
		return v.trustHeader(b)
	}
	s, err := scanBatch(b, v.recordRules(b), v.Limits)
	if err != nil {
		return Summary{}, err
	}
	if len(s.rejected) > 0 {
		return Summary{}, s.rejected
	}
	if v.LogAppendTime {
		return Summary{MaxTimestamp: v.NowMs, Count: s.count}, nil
	}
	return Summary{MaxTimestamp: b.BaseTimestamp() + s.maxDelta, OffsetOfMax: s.maxAt, Count: s.count}, nil
}

// checkHeader applies the rules that the header alone can break.
func (v *Validation) checkHeader(b Batch) error {
	codec := b.Codec()
	count := b.Count()
	switch {
	case !codec.Valid() || v.NoZstd && codec == Zstd:
		return fmt.Errorf("batch is compressed with %v: %w", codec, ErrUnsupportedCodec)
	case b.BaseOffset() != 0:
		return invalid("base offset of a produced batch is %d, not 0", b.BaseOffset())
	case b.IsControl() && !v.FromCoordinator:
		return invalid("clients may not write control batches")
	case b.HasDeleteHorizon():
		return invalid("clients may not set a delete horizon")
	case count <= 0:
		return invalid("batch announces %d records", count)
	case b.LastOffsetDelta() != count-1:
		return invalid("last offset delta is %d with %d records", b.LastOffsetDelta(), count)
	case int64(count)*(minRecordBody+1) > int64(len(b.Payload())) && codec == None:
		return invalid("%d records do not fit into %d bytes", count, len(b.Payload()))
	case b.IsLogAppendTime():
		return fmt.Errorf("clients may not set log append time: %w", ErrInvalidTimestamp)
	}
	return v.checkProducer(b)
}

func (v *Validation) checkProducer(b Batch) error {
	idempotent := b.ProducerID() >= 0
	switch {
	case idempotent && b.ProducerEpoch() < 0:
		return invalid("producer %d has epoch %d", b.ProducerID(), b.ProducerEpoch())
	case idempotent && b.BaseSequence() < 0 && !v.FromCoordinator:
		return invalid("producer %d has base sequence %d", b.ProducerID(), b.BaseSequence())
	case !idempotent && b.IsTransactional():
		return invalid("transactional batch without a producer id")
	}
	return nil
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrInvalidRecord)
}

// trustHeader is what mode HeaderOnly does in place of reading the records.
func (v *Validation) trustHeader(b Batch) (Summary, error) {
	if v.LogAppendTime {
		return Summary{MaxTimestamp: v.NowMs, Count: b.Count()}, nil
	}
	if lowest, highest := v.timestamps(); b.MaxTimestamp() < lowest || b.MaxTimestamp() > highest {
		return Summary{}, fmt.Errorf("max timestamp %d is out of range: %w", b.MaxTimestamp(), ErrInvalidTimestamp)
	}
	return Summary{MaxTimestamp: b.MaxTimestamp(), OffsetOfMax: b.LastOffsetDelta(), Count: b.Count()}, nil
}

// recordRules are the rules for the records of b, whose timestamps count from
// b's base.
func (v *Validation) recordRules(b Batch) rules {
	r := rules{requireKeys: v.RequireKeys, lowestDelta: math.MinInt64, highestDelta: math.MaxInt64}
	if !v.LogAppendTime {
		lowest, highest := v.timestamps()
		r.lowestDelta = subtract(lowest, b.BaseTimestamp())
		r.highestDelta = subtract(highest, b.BaseTimestamp())
	}
	return r
}

// timestamps are the bounds, inclusive, of what a record may have.
func (v *Validation) timestamps() (lowest, highest int64) {
	lowest, highest = math.MinInt64, math.MaxInt64
	if v.BeforeMaxMs >= 0 {
		lowest = subtract(v.NowMs, v.BeforeMaxMs)
	}
	if v.AfterMaxMs >= 0 && v.NowMs <= math.MaxInt64-v.AfterMaxMs {
		highest = v.NowMs + v.AfterMaxMs
	}
	return lowest, highest
}

// subtract is a - b, or the nearest number to it.
func subtract(a, b int64) int64 {
	d := a - b
	if (a < b) == (d < 0) {
		return d
	}
	if a < b {
		return math.MinInt64
	}
	return math.MaxInt64
}
