package record

// DefaultDecompressedBytes is the limit where none is given.
const DefaultDecompressedBytes = 128 << 20

// Limits bounds what reading a batch may cost.
type Limits struct {
	// DecompressedBytes is the most a batch may decompress to; 0 means
	// DefaultDecompressedBytes.
	DecompressedBytes int64
}

// Header is one key and value of a record's headers. A nil Value is null.
type Header struct {
	Key   string
	Value []byte
}

// Record is one record of a batch.
type Record struct {
	OffsetDelta    int32
	TimestampDelta int64
	Key, Value     []byte
	Headers        []Header
}

// Reader reads the records of one batch.
type Reader struct{}

// Records starts reading.
func (b Batch) Records(l Limits) (*Reader, error) { return nil, ErrShort }

// Next reads the next record.
func (r *Reader) Next(rec *Record) bool { return false }

// Err is what stopped Next.
func (r *Reader) Err() error { return nil }

// Close releases the reader.
func (r *Reader) Close() {}

// Mode is how deep validation goes.
type Mode int8

// The modes, named by storage.validation.
const (
	// Records checks every record, decompressing if need be.
	Records Mode = iota
	// HeaderOnly checks the header and the checksum.
	HeaderOnly
)

// Validation is the rules for one batch.
type Validation struct {
	Mode                    Mode
	MaxMessageBytes         int32 // 0 = no limit
	RequireKeys             bool
	NowMs                   int64
	BeforeMaxMs, AfterMaxMs int64 // <0 or MaxInt64 = no limit
	LogAppendTime           bool  // the topic stamps, records' timestamps are not checked
	Limits                  Limits
	AllowControl            bool
	AllowTransactional      bool
	NoZstd                  bool
}

// Summary is what Check learnt.
type Summary struct {
	MaxTimestamp int64
	OffsetOfMax  int64
	Count        int32
}

// Check applies the rules.
func (v *Validation) Check(b Batch) (Summary, error) { return Summary{}, nil }

// Builder builds batches.
type Builder struct{}

// NewBuilder returns a builder.
func NewBuilder(c Codec, level int) *Builder { return &Builder{} }

// Producer sets the idempotent producer's fields of the next batch.
func (w *Builder) Producer(id int64, epoch int16, baseSequence int32) {}

// Transactional marks the next batch.
func (w *Builder) Transactional(on bool) {}

// Append adds a record with timestamp in milliseconds.
func (w *Builder) Append(timestampMs int64, key, value []byte, headers []Header) {}

// Count is the number of records appended since the last Build.
func (w *Builder) Count() int { return 0 }

// Size is the uncompressed size so far, header included.
func (w *Builder) Size() int { return 0 }

// Build returns the batch, owned by the caller.
func (w *Builder) Build() (Batch, error) { return w.AppendTo(nil) }

// AppendTo appends the batch to buf.
func (w *Builder) AppendTo(buf []byte) ([]byte, error) { return buf, nil }

// EndTxnMarker is the control batch that ends a transaction.
func EndTxnMarker(timestampMs, producerID int64, producerEpoch int16, coordinatorEpoch int32, commit bool) Batch {
	return nil
}

// Recompress stores the records of b with another codec.
func Recompress(b Batch, c Codec, level int, l Limits) (Batch, error) { return nil, nil }
