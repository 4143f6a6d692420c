package api

import (
	"sync"
	"time"

	"tidemark/broker/purgatory"
	"tidemark/broker/replica"
	"tidemark/protocol/wire"
)

// Fetch (1), versions 4 to 17. 5 brought the log start offset, 7 fetch sessions
// (always answered with session 0: "none"), 9 leader epochs, 10 zstd, 11 the
// rack, 12 tagged fields and diverging epochs, 13 topic ids, 15 moved the
// replica id into a tagged field, 16 the current leader's address (KIP-951).

const (
	firstZstdFetch     = 10
	firstRackFetch     = 11
	firstTopicIDFetch  = 13
	firstFlexibleFetch = 12
	firstDirFetch      = 17
)

// consumer is the replica id of a client that is no broker.
const consumer int32 = -1

// fetch is one request being answered; one that need not wait is recycled.
type fetch struct {
	server *Server
	call   call
	// replica is the follower that asks, with its broker epoch, or consumer.
	replica     int32
	brokerEpoch int64
	rack        string // a consumer's; "" where nobody asks for it
	// Of a follower: the log directory of each part, as far as it names them, and
	// what it is told.
	dirs     [][16]byte
	told     []replica.ReplicaAnswer
	wait     time.Duration
	minBytes int64
	maxBytes int64
	session  int32
	topics   int
	parts    []fetchPart
}

// fetchPart is one partition of the request.
type fetchPart struct {
	topic    string   // set where the request names topics
	id       [16]byte // set where it has ids
	newTopic bool     // the first of its topic in the request
	siblings int32    // at the first: how many partitions the topic has here
	index    int32

	partition *replica.Partition
	read      replica.ReadRequest
	preferred int32 // the replica that is nearer to the consumer; −1 for none
	lastEpoch int32 // of the record before the offset, as the fetcher knows it; −1 unknown
	err       error // found when the partition was looked up
}

var fetches = sync.Pool{New: func() any { return new(fetch) }}

func handleFetch(s *Server, c call) {
	f := fetches.Get().(*fetch)
	f.server, f.call = s, c
	if err := f.decode(); err != nil {
		f.recycle()
		c.to.Fail(err)
		return
	}
	f.call.body, f.call.header.ClientID = nil, nil // they alias the frame
	if f.session != 0 {
		resp := f.writer(wire.FetchSessionIDNotFound, 0).Finish(nil)
		f.recycle()
		c.to.Reply(resp)
		return
	}
	for i := range f.parts {
		f.resolve(&f.parts[i])
	}
	f.tellLeaders()
	if f.wait <= 0 || f.satisfied() {
		resp := f.respond()
		f.recycle()
		c.to.Reply(resp)
		return
	}
	f.park()
}

// resolve finds the partition.
func (f *fetch) resolve(part *fetchPart) {
	s := f.server
	var t *replica.Topic
	switch {
	case f.call.header.Version < firstTopicIDFetch:
		if t = s.o.Replicas.Topic(part.topic); t == nil && !replica.ValidName(part.topic) {
			part.err = errInvalidTopic
			return
		}
	case part.id == [16]byte{}:
		part.err = errUnknownTopicID
		return
	default:
		if t = s.o.Replicas.TopicByID(part.id); t == nil {
			known := s.o.Metadata.View().TopicByID(part.id)
			if known == nil {
				part.err = errUnknownTopicID
				return
			}
			part.topic = known.Name
		} else {
			part.topic = t.Name
		}
	}
	if t != nil {
		part.partition = t.Partition(part.index)
	}
	if part.partition == nil {
		part.err = s.absent(part.topic, part.index)
		return
	}
	if f.rack != "" {
		part.preferred = f.nearer(part)
	}
}

// satisfied reports whether the request is to be answered now: there are as many
// bytes as it waits for, or an error to tell.
func (f *fetch) satisfied() bool {
	if len(f.parts) == 0 || f.minBytes <= 0 {
		return true
	}
	var bytes int64
	for i := range f.parts {
		part := &f.parts[i]
		switch {
		case part.err != nil, part.preferred >= 0, f.hasNews(i):
			return true
		case f.replica >= 0 && part.partition.HoldsBack(f.replica):
			continue
		case !part.partition.Ready(part.read):
			continue
		case f.minBytes == 1, part.partition.MustTell(part.read):
			return true
		}
		if bytes += part.partition.Available(part.read); bytes >= f.minBytes {
			return true
		}
	}
	return false
}

// hasNews reports whether a part's answer tells of something else than records.
func (f *fetch) hasNews(i int) bool {
	if f.replica >= 0 {
		return f.told[i].News
	}
	end, err := f.parts[i].diverged()
	return end != nil || err != nil
}

// park waits for records; fetch is a purgatory.Operation.
func (f *fetch) park() {
	var one [1]*purgatory.Key
	keys := one[:0]
	for i := range f.parts {
		keys = append(keys, &f.parts[i].partition.Changed)
	}
	if cap(f.told) > 2*len(f.told) {
		f.told = append([]replica.ReplicaAnswer(nil), f.told...)
	}
	f.call.to.ReleaseBody()
	if cap(f.parts) > 2*len(f.parts) {
		f.parts = append([]fetchPart(nil), f.parts...) // a wait holds no spare room
	}
	w := f.server.purgatory.Park(f, f.wait, keys...)
	w.CancelWith(f.call.to.AfterClose)
}

// TryComplete answers once there is enough. The reading is left to the client's
// connection, so that a producer that wakes many fetches does not do their work.
func (f *fetch) TryComplete() bool {
	if !f.satisfied() {
		return false
	}
	f.call.to.ReplyWith(f.respond)
	return true
}

// Expire answers with what there is.
func (f *fetch) Expire() { f.call.to.ReplyWith(f.respond) }

// Cancel gives up.
func (f *fetch) Cancel() { f.call.to.NoReply() }

func (f *fetch) recycle() {
	if cap(f.parts) > maxRecycledParts {
		return
	}
	clear(f.parts)
	f.parts, f.told, f.dirs = f.parts[:0], f.told[:0], f.dirs[:0]
	f.call, f.server = call{}, nil
	fetches.Put(f)
}
