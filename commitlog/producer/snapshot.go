package producer

// Entry is what a snapshot keeps of one producer.
type Entry struct {
	ProducerID            int64
	Epoch                 int16
	LastSequence          int32
	LastOffset            int64
	OffsetDelta           int32
	TimestampMs           int64
	CoordinatorEpoch      int32
	CurrentTxnFirstOffset int64
}
