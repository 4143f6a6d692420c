package replica

import (
	"tidemark/commitlog"
	"tidemark/commitlog/producer"
	"tidemark/protocol/record"
)

// StartVerification is commitlog.Log.StartVerification: it is called with a client's
// transactional batch before it is appended, and says whether the transaction is to
// be verified with its coordinator first.
func (p *Partition) StartVerification(producerID int64, producerEpoch int16, firstSequence int32) (g commitlog.Guard, needed bool) {
	return p.log.StartVerification(producerID, producerEpoch, firstSequence)
}

// AppendTransactional is Append of a client's batch that was verified with guard g.
func (p *Partition) AppendTransactional(b record.Batch, acks int16, g commitlog.Guard) (info commitlog.AppendInfo, moved bool, err error) {
	return p.appendBy(AnyEpoch, acks, func(leaderEpoch int32) (commitlog.AppendInfo, error) {
		return p.log.AppendTransactional(b, leaderEpoch, g)
	})
}

// AppendMarker appends, with acks=all, the control batch that ends a producer's
// transaction; newer is commitlog.Log.AppendMarker's. If moved is true the caller
// calls Changed.Wake, as after Append.
func (p *Partition) AppendMarker(m record.EndTxnMarker, newer bool) (info commitlog.AppendInfo, moved bool, err error) {
	return p.appendMarker(AnyEpoch, m, newer)
}

// appendMarker is AppendMarker of a caller who knows the leader epoch.
func (p *Partition) appendMarker(callerEpoch int32, m record.EndTxnMarker, newer bool) (info commitlog.AppendInfo, moved bool, err error) {
	return p.appendBy(callerEpoch, AckAll, func(leaderEpoch int32) (commitlog.AppendInfo, error) {
		return p.log.AppendMarker(m, leaderEpoch, newer)
	})
}

// Producers lists the producers that the partition remembers, by id
// (DescribeProducers).
func (p *Partition) Producers() []producer.Entry { return p.log.Producers() }
