package txn

import (
	"time"

	"tidemark/coordinator/shard"
)

// abortTimedOut aborts the first transaction, in order of their ids, that has been
// open for longer than its timeout; where there are more, it comes back at once. Each
// is a batch of its own, so that one decision is one answer to who carries it out.
func (x *Txns) abortTimedOut(now time.Time, out *Outcome) {
	wait := x.options.AbortInterval
	for _, id := range x.inOrder() {
		t := x.ids[id]
		if t.State != Ongoing || now.UnixMilli() < t.StartMs+int64(t.TimeoutMs) {
			continue
		}
		x.fence(now, t, None, out)
		wait = 0
		break
	}
	out.Set(shard.TimerKey{Kind: abortTimer}, wait)
}

// sweepRecords bounds the tombstones of one sweep, so that they fit in a batch.
const sweepRecords = 1000

// expireIDs forgets transactional ids that were not used for their time and have no
// transaction.
func (x *Txns) expireIDs(now time.Time, out *Outcome) {
	out.RecordsOnly = true
	wait := x.options.ExpireInterval
	for _, id := range x.inOrder() {
		t := x.ids[id]
		if t.State == Ongoing || t.undone() || now.UnixMilli() < t.UpdateMs+x.options.Expiration.Milliseconds() {
			continue
		}
		if len(out.Records) == sweepRecords {
			wait = 0
			break
		}
		x.write(&Record{ID: id, Tombstone: true}, out)
	}
	out.Set(shard.TimerKey{Kind: expireTimer}, wait)
}
