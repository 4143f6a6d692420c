package inspect

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"tidemark/commitlog"
	"tidemark/commitlog/checkpoint"
	"tidemark/commitlog/epoch"
	"tidemark/commitlog/index"
	"tidemark/commitlog/producer"
	"tidemark/protocol/record"
)

// place is where a batch of the segment lies, for checks of its indexes.
type place struct {
	last, position, newest int64
}

// places lists the batches of the segment that an index file belongs to.
func (d *dumper) places(indexPath, suffix string) ([]place, error) {
	path := strings.TrimSuffix(indexPath, suffix) + commitlog.LogSuffix
	var all []place
	_, err := walk(path, func(b record.Batch, position int64) error {
		all = append(all, place{b.LastOffset(), position, b.MaxTimestamp()})
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		d.problem("there is no segment file to this index")
		return nil, nil
	}
	return all, err
}

// at finds the batch that reaches offset.
func at(all []place, offset int64) (place, bool) {
	i, _ := slices.BinarySearchFunc(all, offset, func(p place, offset int64) int {
		if p.last < offset {
			return -1
		}
		return 1
	})
	if i == len(all) {
		return place{}, false
	}
	return all[i], true
}

func (d *dumper) offsets(path string, base int64) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	entries, err := index.DecodeOffsets(data, base)
	if err != nil {
		d.problem("%v", err)
	}
	all, err := d.places(path, commitlog.IndexSuffix)
	if err != nil {
		return err
	}
	previous := index.Position{Offset: -1, Position: -1}
	for _, e := range entries {
		d.line("offset", field{"offset", e.Offset}, field{"position", e.Position})
		if e.Offset <= previous.Offset || e.Position <= previous.Position {
			d.problem("entry %d at %d does not ascend", e.Offset, e.Position)
		}
		if p, ok := at(all, e.Offset); !ok || p.last != e.Offset || p.position != e.Position {
			d.problem("entry %d at %d: no batch with that last offset begins there", e.Offset, e.Position)
		}
		previous = e
	}
	return nil
}

func (d *dumper) times(path string, base int64) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	entries, err := index.DecodeTimes(data, base)
	if err != nil {
		d.problem("%v", err)
	}
	all, err := d.places(path, commitlog.TimeIndexSuffix)
	if err != nil {
		return err
	}
	previous := index.Timestamp{TimestampMs: -1, Offset: -1}
	for _, e := range entries {
		d.line("timestamp", field{"timestamp", e.TimestampMs}, field{"offset", e.Offset})
		if e.TimestampMs <= previous.TimestampMs || e.Offset <= previous.Offset {
			d.problem("entry %d at offset %d does not ascend", e.TimestampMs, e.Offset)
		}
		if p, ok := at(all, e.Offset); !ok || p.last != e.Offset || p.newest != e.TimestampMs {
			d.problem("entry %d at offset %d: no batch with that last offset has that largest timestamp", e.TimestampMs, e.Offset)
		}
		previous = e
	}
	return nil
}

// transactions prints a transaction index and holds it against its segment: every
// entry names a marker.
func (d *dumper) transactions(path string, base int64) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	entries, err := index.DecodeTransactions(data, base)
	if err != nil {
		d.problem("%v", err)
	}
	all, err := d.places(path, commitlog.TxnIndexSuffix)
	if err != nil {
		return err
	}
	for _, e := range entries {
		d.line("aborted",
			field{"version", 0}, field{"producerId", e.ProducerID}, field{"firstOffset", e.FirstOffset},
			field{"lastOffset", e.LastOffset}, field{"lastStableOffset", e.LastStableOffset})
		if p, ok := at(all, e.LastOffset); !ok || p.last != e.LastOffset {
			d.problem("entry of producer %d: no batch ends at its last offset %d", e.ProducerID, e.LastOffset)
		}
	}
	return nil
}

func (d *dumper) snapshot(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	entries, err := producer.Decode(data)
	if err != nil {
		d.problem("%v", err)
	}
	for _, e := range entries {
		d.line("producer",
			field{"producerId", e.ProducerID}, field{"producerEpoch", e.Epoch}, field{"lastSequence", e.LastSequence},
			field{"lastOffset", e.LastOffset}, field{"offsetDelta", e.OffsetDelta}, field{"lastTimestamp", e.TimestampMs},
			field{"coordinatorEpoch", e.CoordinatorEpoch}, field{"currentTxnFirstOffset", e.CurrentTxnFirstOffset})
	}
	return nil
}

func (d *dumper) epochs(path string, data []byte) error {
	entries, err := epoch.Decode(path, data)
	for _, e := range entries {
		d.line("epoch", field{"leaderEpoch", e.Epoch}, field{"startOffset", e.StartOffset})
	}
	return err
}

func (d *dumper) checkpoint(path string, data []byte) error {
	offsets, err := checkpoint.DecodeOffsets(path, data)
	if err != nil {
		return err
	}
	// Encoded anew, the entries come sorted.
	lines, err := checkpoint.Lines(path, checkpoint.EncodeOffsets(offsets))
	for _, line := range lines {
		var topic string
		var partition, offset int64
		if _, err := fmt.Sscan(line, &topic, &partition, &offset); err != nil {
			return err
		}
		d.line("checkpoint", field{"topic", topic}, field{"partition", partition}, field{"offset", offset})
	}
	return err
}

func (d *dumper) meta(path string, data []byte) error {
	m, err := checkpoint.DecodeMeta(path, data)
	if err == nil {
		d.line("meta", field{"brokerId", m.BrokerID}, field{"clusterId", m.ClusterID})
	}
	return err
}

func (d *dumper) partition(path string, data []byte) error {
	m, err := checkpoint.DecodePartitionMetadata(path, data)
	if err == nil {
		d.line("partition", field{"topicId", base64.RawURLEncoding.EncodeToString(m.TopicID[:])})
	}
	return err
}

func (d *dumper) cleanShutdown(_ string, data []byte) error {
	d.line("cleanShutdown", field{"content", string(data)})
	return nil
}
