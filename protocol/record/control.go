package record

import (
	"encoding/binary"
	"fmt"
)

// ControlType is what a control record says (Kafka's ControlRecordType).
type ControlType int16

// The control records of transactions.
const (
	Abort  ControlType = 0
	Commit ControlType = 1
)

// String names the type as kafka-dump-log does.
func (t ControlType) String() string {
	switch t {
	case Abort:
		return "ABORT"
	case Commit:
		return "COMMIT"
	default:
		return fmt.Sprintf("UNKNOWN(%d)", int16(t))
	}
}

// A control record's key is version int16, type int16; the value of an end
// marker is version int16, coordinator epoch int32.
const (
	controlVersion   = 0
	controlKeySize   = 4
	endTxnValueSize  = 6
	atControlType    = 2
	atEndTxnMarkerEp = 2
)

// EndTxnMarker is what a transaction's end marker says.
type EndTxnMarker struct {
	TimestampMs      int64
	ProducerID       int64
	ProducerEpoch    int16
	CoordinatorEpoch int32
	Commit           bool
}

// Batch returns the control batch that ends the producer's transaction
// (MemoryRecords.withEndTransactionMarker).
func (e EndTxnMarker) Batch() Batch {
	kind := Abort
	if e.Commit {
		kind = Commit
	}
	key := binary.BigEndian.AppendUint16(nil, controlVersion)
	key = binary.BigEndian.AppendUint16(key, uint16(kind))
	value := binary.BigEndian.AppendUint16(nil, controlVersion)
	value = binary.BigEndian.AppendUint32(value, uint32(e.CoordinatorEpoch))
	w := NewBuilder(None, 0)
	w.Producer(e.ProducerID, e.ProducerEpoch, NoSequence)
	w.flags = bitTransactional | bitControl
	w.Append(e.TimestampMs, key, value, nil)
	return w.Build()
}

// ParseControl reads the key and value of a control record. The coordinator
// epoch means something for Abort and Commit only.
func ParseControl(key, value []byte) (t ControlType, coordinatorEpoch int32, err error) {
	if len(key) < controlKeySize {
		return 0, 0, invalid("control record's key has %d bytes", len(key))
	}
	t = ControlType(binary.BigEndian.Uint16(key[atControlType:]))
	if t != Abort && t != Commit {
		return t, 0, nil
	}
	if len(value) < endTxnValueSize {
		return 0, 0, invalid("end marker's value has %d bytes", len(value))
	}
	return t, int32(binary.BigEndian.Uint32(value[atEndTxnMarkerEp:])), nil
}
