package record

import "encoding/binary"

// LeaderChange is the control record with which a leader begins its epoch where
// the strategy asks for it (Kafka's LeaderChangeMessage of KRaft's own log).
// Consumers step over it, as over every control record.
const LeaderChange ControlType = 2

// LeaderChangeMarker is what it says.
type LeaderChangeMarker struct {
	TimestampMs int64
	Leader      int32
	Voters      []int32
}

// Batch returns the control batch; it belongs to no producer and no transaction.
//
//	key    version int16 = 0, type int16 = 2
//	value  version int16 = 0, leader int32, voters, granting voters (none), no tags
//	voters count uvarint + 1, then for each: id int32, no tags
func (m LeaderChangeMarker) Batch() Batch {
	key := binary.BigEndian.AppendUint16(nil, controlVersion)
	key = binary.BigEndian.AppendUint16(key, uint16(LeaderChange))
	value := binary.BigEndian.AppendUint16(nil, 0)
	value = binary.BigEndian.AppendUint32(value, uint32(m.Leader))
	value = binary.AppendUvarint(value, uint64(len(m.Voters))+1)
	for _, v := range m.Voters {
		value = append(binary.BigEndian.AppendUint32(value, uint32(v)), 0)
	}
	value = append(value, 1, 0)
	w := NewBuilder(None, 0)
	w.flags = bitControl
	w.Append(m.TimestampMs, key, value, nil)
	return w.Build()
}
