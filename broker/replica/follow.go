package replica

import (
	"errors"
	"fmt"

	"tidemark/broker/peer"
	"tidemark/commitlog"
	"tidemark/internal/trace"
	"tidemark/protocol/record"
	"tidemark/replication"
)

// following is a partition's side of fetching from its leader.
type following struct {
	// leader is whom the last Fetch named; standing is true until DropFetch.
	leader   int32
	standing bool
	// asked is the place in a fetcher, nil for none. generation numbers what is
	// asked: an answer to an earlier question is dropped.
	asked      *asked
	generation uint64
	// records are what the leader sent, while its answer is being told.
	records []byte
	// lowered: no checkpoint says more of the log than it has.
	lowered bool
	// failure is why the last answer came to nothing.
	failure string
}

// beginFetch asks the leader from now on.
func (p *Partition) beginFetch(e *replication.Effect) {
	f := &p.following
	f.leader, f.standing = e.Broker, true
	f.generation++
	if m := p.manager; m.fetchers != nil {
		m.fetchers.ask(p, peer.FetchPartition{
			TopicID: p.Topic.ID, Index: p.Index, LeaderEpoch: e.LeaderEpoch, FetchOffset: e.Offset, LastFetchedEpoch: e.RecordEpoch,
			LogStartOffset: p.log.LogStartOffset(), MaxBytes: m.o.Fetch.MaxBytes, Dir: p.dir.id,
		})
	}
}

// dropFetch asks no more. A follower whose tail is being synced keeps its place.
func (p *Partition) dropFetch() {
	f := &p.following
	f.standing = false
	f.generation++
	if f.asked != nil {
		f.asked.pause()
	}
}

// leaveFetcher gives up the place of a partition that does not fetch, unless it
// waits for a sync.
func (p *Partition) leaveFetcher() {
	if f := &p.following; f.asked != nil && !f.standing {
		f.asked.leave()
		f.asked = nil
	}
}

// fetched tells the machine what the leader answered to the question of that
// generation, whose event request is. It returns why nothing came of it; "" where
// something did, or where the question was an old one.
func (p *Partition) fetched(generation uint64, request trace.ID, q *peer.FetchPartition, a *peer.FetchedPartition) (failure string) {
	why, known := peer.Failure(a.ErrorCode)
	if !known {
		return a.ErrorCode.String()
	}
	p.stepping.Lock()
	f := &p.following
	if !f.standing || f.generation != generation {
		p.stepping.Unlock()
		return ""
	}
	f.records, f.failure = a.Records, ""
	if p.traced != nil {
		p.traced.flush()
		p.traced.cause = request
	}
	p.step(&replication.Event{
		Kind: replication.FetchResponse, Now: p.manager.now(), Broker: f.leader, LeaderEpoch: q.LeaderEpoch, Offset: q.FetchOffset,
		Failure: why, HighWatermark: a.HighWatermark, LogStart: a.LogStartOffset, LogEnd: a.LastStableOffset,
		DivergingEpoch: a.DivergingEpoch, DivergingEnd: a.DivergingEnd, Records: len(a.Records) > 0,
	})
	f.records = nil
	if why == replication.NoFailure {
		p.judgeVoter(q.LeaderEpoch, a.HighWatermark)
	}
	if failure = f.failure; failure == "" && f.generation == generation {
		failure = a.ErrorCode.String() // The machine had no use for it.
	}
	if p.unlock() {
		p.Changed.Wake()
	}
	return failure
}

// accept appends what the leader sent, one leader epoch at a time.
func (p *Partition) accept() {
	f := &p.following
	if f.lowered = f.lowered || p.dir.lower(p); !f.lowered {
		f.failure = "a checkpoint cannot be written"
		return
	}
	for rest := f.records; len(rest) > 0; {
		run, leaderEpoch, err := epochRun(rest)
		if len(run) == 0 && err == nil {
			return // The last batch is cut off.
		}
		if err == nil {
			_, err = p.log.AppendAsFollower(run)
		}
		if errors.Is(err, commitlog.ErrUnexpectedOffset) && p.beginWithin(run) {
			_, err = p.log.AppendAsFollower(run)
		}
		p.grown(p.log.LogEndOffset(), leaderEpoch)
		if err != nil {
			f.failure = p.failed("append", fmt.Errorf("from broker %d: %w", f.leader, err)).Error()
			return
		}
		rest = rest[len(run):]
	}
}

// beginWithin makes an empty log begin with the batch that its start lies within, as
// one does whose leader's log starts there (Partition.appendRecordsToFollowerOrFutureReplica).
func (p *Partition) beginWithin(run []byte) bool {
	b, _, err := record.Parse(run)
	start := p.log.LogStartOffset()
	if err != nil || p.log.LogEndOffset() != start || b.BaseOffset() >= start || b.LastOffset() < start {
		return false
	}
	p.cut(&replication.Effect{Offset: b.BaseOffset(), Why: replication.LeaderStartsLater}, p.log.TruncateFullyAndStartAt)
	return p.following.lowered && p.log.LogEndOffset() == b.BaseOffset()
}

// epochRun is the whole batches at the start of records that one leader epoch wrote;
// none where the first is cut off.
func epochRun(records []byte) (run []byte, leaderEpoch int32, err error) {
	rest := records
	for len(rest) > 0 {
		b, next, err := record.Parse(rest)
		if err == record.ErrShort {
			break
		}
		if err != nil {
			return nil, leaderEpoch, err
		}
		if len(rest) == len(records) {
			leaderEpoch = b.LeaderEpoch()
		} else if b.LeaderEpoch() != leaderEpoch {
			break
		}
		rest = next
	}
	return records[:len(records)-len(rest)], leaderEpoch, nil
}
