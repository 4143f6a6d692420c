package api

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/groups"
	"tidemark/broker/txns"
	"tidemark/coordinator/group"
	"tidemark/coordinator/shard"
	"tidemark/coordinator/txn"
	"tidemark/protocol/wire"
)

// TxnOffsetCommit (28), versions 0 to 6: offsets of a group that count once the
// producer's transaction is committed. 3 says which member commits (KIP-447); with 5
// the broker takes the group into the transaction, which AddOffsetsToTxn did before
// (KIP-890); 6 has ids of topics in place of names, and the words of KIP-848
// (KIP-1319).
func txnOffsetCommit(s *Server, _ client, req *kmsg.TxnOffsetCommitRequest, answer func(kmsg.Response)) {
	c := newTxnCommit(s, req)
	c.answer = answer
	partition, ok := s.o.Groups.Partition(req.Group)
	switch {
	case !ok:
		c.fail(wire.NotCoordinator)
		answer(c.resp)
		return
	case len(c.kept) == 0 && len(req.Topics) > 0:
		answer(c.resp)
		return
	}
	c.verify(s, partition, 0)
}

// verify has the coordinator of the transaction agree, and then commits. It comes back
// while the producer's transaction before is being ended, and where an end came in
// between.
func (c *txnCommit) verify(s *Server, partition int32, tries int) {
	again := func() {
		s.o.Clock.AfterFunc(concurrentPause, func() { c.verify(s, partition, tries+1) })
	}
	fail := func(code wire.ErrorCode) {
		c.fail(code)
		c.answer(c.resp)
	}
	const most = int(concurrentWait / concurrentPause)
	s.o.Groups.Submit(c.ask.Group, func(g *group.Groups, now time.Time, token shard.Token, out *group.Outcome) {
		g.StartVerification(now, c.ask.ProducerID, token, out)
	}, func(reply shard.Reply) {
		if reply.Err != nil {
			fail(groupCode(reply.Err))
			return
		}
		c.ask.Verified = reply.Body.(*group.Verification)
		s.o.Txns.Ask(c.question(partition), func(errs []error) {
			switch {
			case errs[0] == nil:
				c.commit(s, func() {
					if tries < most {
						again()
						return
					}
					fail(wire.CoordinatorLoadInProgress)
				})
			case errors.Is(errs[0], txn.ErrConcurrent) && tries < most:
				again()
			default:
				fail(questionCode(errs[0], c.add))
			}
		})
	})
}

func (c *txnCommit) question(partition int32) txns.Question {
	return txns.Question{
		Producer:   txn.Producer{ID: c.id, ProducerID: c.ask.ProducerID, ProducerEpoch: c.ask.ProducerEpoch},
		Partitions: []txn.Partition{{Topic: groups.Topic, Index: partition}}, Add: c.add,
	}
}

// commit keeps the offsets and answers, or calls void where the verification is.
func (c *txnCommit) commit(s *Server, void func()) {
	s.o.Groups.Submit(c.ask.Group, func(g *group.Groups, now time.Time, token shard.Token, out *group.Outcome) {
		g.TxnCommit(now, &c.ask, token, out)
	}, func(reply shard.Reply) {
		if errors.Is(reply.Err, group.ErrVerificationVoid) {
			void()
			return
		}
		for i, p := range c.kept {
			p.ErrorCode = int16(c.code(reply, i))
		}
		c.answer(c.resp)
	})
}

// code is the error of offset i. Before 6 a member's epoch goes by the older word: of
// the newer one Java's producer makes a fatal error.
func (c *txnCommit) code(reply shard.Reply, i int) wire.ErrorCode {
	code := commitCode(reply, i)
	if code == wire.StaleMemberEpoch && c.version < 6 {
		return wire.IllegalGeneration
	}
	return code
}

// questionCode maps what a transaction's coordinator said to a leader, or why it could
// not be asked, for the producer, which comes again.
func questionCode(err error, abortable bool) wire.ErrorCode {
	switch code := groupCode(err); code {
	case wire.NotCoordinator, wire.CoordinatorNotAvailable:
		return wire.CoordinatorLoadInProgress // of the group's own coordinator it would be looked for elsewhere
	case wire.TransactionAbortable:
		if !abortable {
			return wire.InvalidTxnState
		}
		return code
	case wire.ProducerFenced:
		return wire.InvalidProducerEpoch
	default:
		return code
	}
}

// txnCommit is a TxnOffsetCommit under way.
type txnCommit struct {
	id      string
	version int16
	add     bool // the transaction takes the group in
	answer  func(kmsg.Response)
	ask     group.TxnCommitRequest
	resp    *kmsg.TxnOffsetCommitResponse
	// kept are the parts of resp that ask.Offsets is about, in its order.
	kept []*kmsg.TxnOffsetCommitResponseTopicPartition
}

// newTxnCommit answers what is refused at once and asks for the rest.
func newTxnCommit(s *Server, req *kmsg.TxnOffsetCommitRequest) *txnCommit {
	c := &txnCommit{id: req.TransactionalID, version: req.Version, add: req.Version >= 5, resp: kmsg.NewPtrTxnOffsetCommitResponse(), ask: group.TxnCommitRequest{
		CommitRequest: group.CommitRequest{Group: req.Group, Generation: -1, RetentionMs: -1},
		ProducerID:    req.ProducerID, ProducerEpoch: req.ProducerEpoch,
	}}
	if req.Version >= 3 {
		c.ask.Generation, c.ask.Member, c.ask.InstanceID = req.Generation, req.MemberID, deref(req.InstanceID)
	}
	view := s.o.Metadata.View()
	c.resp.Topics = make([]kmsg.TxnOffsetCommitResponseTopic, len(req.Topics))
	for i, t := range req.Topics {
		topic := &c.resp.Topics[i]
		topic.Topic, topic.TopicID, topic.Partitions = t.Topic, t.TopicID, make([]kmsg.TxnOffsetCommitResponseTopicPartition, len(t.Partitions))
		known, unknown := topicOf(view, t.Topic, t.TopicID, req.Version >= 6)
		for j := range t.Partitions {
			p, part := &t.Partitions[j], &topic.Partitions[j]
			part.Partition = p.Partition
			if !hasPartition(known, p.Partition) {
				part.ErrorCode = int16(unknown)
				continue
			}
			offset := group.Commit{
				TopicPartition: group.TopicPartition{Topic: known.Name, Partition: p.Partition}, TopicID: t.TopicID,
				Offset: p.Offset, LeaderEpoch: -1, Metadata: deref(p.Metadata),
			}
			if req.Version >= 2 {
				offset.LeaderEpoch = p.LeaderEpoch
			}
			c.kept, c.ask.Offsets = append(c.kept, part), append(c.ask.Offsets, offset)
		}
	}
	return c
}

// fail refuses all that was not refused before.
func (c *txnCommit) fail(code wire.ErrorCode) {
	for _, p := range c.kept {
		p.ErrorCode = int16(code)
	}
}
