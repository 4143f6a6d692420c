package shard

import (
	"fmt"

	"tidemark/internal/invariant"
	"tidemark/protocol/record"
)

// load makes the machine from the log, and the shard active.
func (s *shard[M, R]) load() {
	s.machine = s.host.options.New(s.partition)
	s.waiting, s.timers = map[Token]func(Reply){}, map[TimerKey]*armed{}
	err := s.replayLog()
	if err == nil && !s.hasEnded() {
		err = s.openStore()
	}
	if err != nil && !s.hasEnded() {
		s.become(Failed)
		s.tell(fmt.Errorf("load partition %d: %w", s.partition, err))
		return
	}
	if s.hasEnded() {
		return // run finds the end in the mailbox
	}
	s.become(Active)
	now := s.host.options.Clock.Now()
	s.outcome.Reset()
	s.machine.Loaded(now, &s.outcome)
	invariant.Check(len(s.outcome.Records) == 0, "partition %d: the machine wrote while loading", s.partition)
	s.settle()
}

// replayLog replays every record from the start of the log to its end. A tail that
// compaction has taken away ends it; so does the end of the shard.
func (s *shard[M, R]) replayLog() error {
	offset := s.log.LogStartOffset()
	var buf []byte
	for offset < s.log.LogEndOffset() && !s.hasEnded() {
		var err error
		buf, err = s.log.Read(buf[:0], offset, s.host.options.LoadBytes)
		if err != nil {
			return fmt.Errorf("read at offset %d: %w", offset, err)
		}
		next, err := s.replayBatches(buf, offset)
		if err != nil {
			return err
		}
		if next <= offset {
			break
		}
		offset = next
	}
	s.written = max(offset, s.log.LogEndOffset())
	return nil
}

// replayBatches replays the batches in buf that reach beyond offset and returns the
// offset after the last.
func (s *shard[M, R]) replayBatches(buf []byte, offset int64) (next int64, err error) {
	next = offset
	for len(buf) > 0 {
		b, rest, err := record.Parse(buf)
		if err != nil {
			return 0, fmt.Errorf("batch at offset %d: %w", next, err)
		}
		if b.NextOffset() > next {
			if err := s.replayBatch(b, next); err != nil {
				return 0, fmt.Errorf("batch at offset %d: %w", b.BaseOffset(), err)
			}
			next = b.NextOffset()
		}
		buf = rest
	}
	return next, nil
}

// replayBatch replays the records of b from the given offset on.
func (s *shard[M, R]) replayBatch(b record.Batch, from int64) error {
	if b.Count() == 0 {
		return nil
	}
	records, err := b.Records(record.Limits{})
	if err != nil {
		return err
	}
	defer records.Close()
	origin := Origin{Transactional: b.IsTransactional(), ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch()}
	for index := 0; ; index++ {
		var r record.Record
		if !records.Next(&r) {
			return records.Err()
		}
		if origin.Offset = b.BaseOffset() + int64(r.OffsetDelta); origin.Offset < from {
			continue
		}
		if err := s.replayRecord(b, origin, &r); err != nil {
			return fmt.Errorf("record %d: %w", index, err)
		}
	}
}

func (s *shard[M, R]) replayRecord(b record.Batch, from Origin, r *record.Record) error {
	if b.IsControl() {
		kind, _, err := record.ParseControl(r.Key, r.Value)
		if err == nil && (kind == record.Commit || kind == record.Abort) {
			s.machine.EndTransaction(b.ProducerID(), b.ProducerEpoch(), kind == record.Commit)
		}
		return err
	}
	typed, ok, err := s.host.options.Codec.Decode(r.Key, r.Value)
	if err != nil || !ok || s.isKept(typed) {
		return err
	}
	s.machine.Replay(from, typed)
	return nil
}
