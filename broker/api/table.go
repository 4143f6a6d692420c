package api

import (
	"bytes"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/protocol/wire"
)

// row is one API: its key, the versions that are served and its handler.
type row struct {
	key      int16
	name     string
	min, max int16
	// advertisedMin is lower than min where clients must be told so.
	advertisedMin int16
	handle        func(*Server, call)
	// internal APIs are between brokers: clients are not told of them.
	internal bool
	note     string
}

// table is every API served, by key. A handler reaches it through its Server.
var table = named([]row{
	{key: 0, min: 3, max: 12, handle: handleProduce,
		note: "0–2 are advertised, because librdkafka before 2.11.1 stops compressing without them, and refused"},
	{key: 1, min: 4, max: 17, handle: handleFetch, note: "topic ids from 13; no fetch sessions"},
	{key: 2, min: 1, max: 9, handle: body(listOffsets)},
	{key: 3, min: 0, max: 12, handle: body(describeMetadata)},
	{key: 4, min: 7, max: 7, handle: body(leaderAndISR), internal: true},
	{key: 5, min: 4, max: 4, handle: body(stopReplica), internal: true},
	{key: 6, min: 8, max: 8, handle: body(updateMetadata), internal: true},
	{key: 7, min: 3, max: 3, handle: body(controlledShutdown), internal: true},
	{key: 8, min: 2, max: 10, handle: later(offsetCommit), note: "topic ids from 10"},
	{key: 9, min: 1, max: 10, handle: later(offsetFetch), note: "topic ids from 10"},
	{key: 10, min: 0, max: 6, handle: body(findCoordinator)},
	{key: 11, min: 0, max: 9, handle: later(joinGroup)},
	{key: 12, min: 0, max: 4, handle: later(heartbeat)},
	{key: 13, min: 0, max: 5, handle: later(leaveGroup)},
	{key: 14, min: 0, max: 5, handle: later(syncGroup)},
	{key: 15, min: 0, max: 6, handle: later(describeGroups)},
	{key: 16, min: 0, max: 5, handle: later(listGroups)},
	{key: 18, min: 0, max: 4, handle: body(apiVersions), note: "any other version is answered in version 0 with UNSUPPORTED_VERSION"},
	{key: 19, min: 0, max: 7, handle: body(createTopics)},
	{key: 20, min: 0, max: 6, handle: body(deleteTopics)},
	{key: 21, min: 0, max: 2, handle: body(deleteRecords)},
	{key: 22, min: 0, max: 5, handle: later(initProducerID)},
	{key: 23, min: 2, max: 4, handle: body(offsetForLeaderEpoch)},
	{key: 24, min: 0, max: 5, handle: later(addPartitionsToTxn)},
	{key: 25, min: 0, max: 4, handle: later(addOffsetsToTxn)},
	{key: 26, min: 0, max: 5, handle: later(endTxn)},
	{key: 27, min: 1, max: 2, handle: later(writeTxnMarkers)},
	{key: 28, min: 0, max: 6, handle: later(txnOffsetCommit), note: "topic ids from 6"},
	{key: 32, min: 0, max: 4, handle: body(describeConfigs)},
	{key: 33, min: 0, max: 2, handle: body(alterConfigs)},
	{key: 35, min: 0, max: 4, handle: body(describeLogDirs)},
	{key: 37, min: 0, max: 3, handle: body(createPartitions)},
	{key: 42, min: 0, max: 2, handle: later(deleteGroups)},
	{key: 43, min: 0, max: 2, handle: body(electLeaders)},
	{key: 44, min: 0, max: 1, handle: body(incrementalAlterConfigs)},
	{key: 45, min: 0, max: 0, handle: body(alterPartitionReassignments)},
	{key: 46, min: 0, max: 0, handle: body(listPartitionReassignments)},
	{key: 47, min: 0, max: 0, handle: later(offsetDelete)},
	{key: 56, min: 3, max: 3, handle: body(alterPartition), internal: true},
	{key: 60, min: 0, max: 1, handle: body(describeCluster)},
	{key: 61, min: 0, max: 0, handle: body(describeProducers)},
	{key: 65, min: 0, max: 0, handle: later(describeTransactions)},
	{key: 66, min: 0, max: 2, handle: later(listTransactions)},
	{key: 68, min: 0, max: 1, handle: later(consumerGroupHeartbeat), note: "librdkafka does not speak 0"},
	{key: 69, min: 0, max: 1, handle: later(consumerGroupDescribe)},
	{key: wire.KeyFenceReplica, name: "FenceReplica", min: 0, max: 0, handle: later(fenceReplica), internal: true, note: "not Kafka's"},
})

// byKey indexes the keys of table that are Kafka's, which are small.
var byKey = func() (index [128]*row) {
	for i := range table {
		if key := table[i].key; int(key) < len(index) {
			index[key] = &table[i]
		}
	}
	return index
}()

// named fills in what follows from the key.
func named(rows []row) []row {
	for i := range rows {
		r := &rows[i]
		if r.advertisedMin = r.min; r.name == "" {
			r.name = kmsg.NameForKey(r.key)
		}
		if r.key == wire.KeyProduce {
			r.advertisedMin = 0
		}
	}
	return rows
}

// rowFor finds the row of a key; nil when it is not served.
func rowFor(key int16) *row {
	switch {
	case key >= 0 && int(key) < len(byKey):
		return byKey[key]
	case key == wire.KeyFenceReplica:
		return &table[len(table)-1]
	}
	return nil
}

// Name is the API's name for metrics and messages; "" where the key is not served.
func Name(key int16) string {
	if r := rowFor(key); r != nil {
		return r.name
	}
	return ""
}

// maxBody bounds the body of every request but Produce and Fetch. Decoded arrays
// take up to some thirty times the bytes they came from, so this is what one
// request can cost.
const maxBody = 4 << 20

// decodeBody reads the body of a request. One that keeps its bytes after the frame is
// given back gets copies of them.
func decodeBody[T any, P interface {
	*T
	kmsg.Request
}](c call, keeps bool) (P, error) {
	src := c.body
	if len(src) > maxBody {
		return nil, fmt.Errorf("%w: body of %d bytes, at most %d are read", wire.ErrMalformed, len(src), maxBody)
	}
	if keeps {
		src = bytes.Clone(src)
	}
	var req P = new(T)
	req.SetVersion(c.header.Version)
	if err := req.ReadFrom(src); err != nil {
		return nil, fmt.Errorf("%w: key %d version %d: %w", wire.ErrMalformed, c.header.Key, c.header.Version, err)
	}
	return req, nil
}

// body makes a handler of a function from a decoded request to its response.
func body[T any, P interface {
	*T
	kmsg.Request
}](answer func(*Server, P) kmsg.Response) func(*Server, call) {
	return func(s *Server, c call) {
		req, err := decodeBody[T, P](c, false)
		if err != nil {
			c.to.Fail(err)
			return
		}
		c.to.Reply(wire.NewResponse(c.header, answer(s, req)))
	}
}

// WriteMarkdown writes docs/reference/api-versions.md.
func WriteMarkdown(w io.Writer) error {
	out := []byte("# API versions\n\n" +
		"Generated from the table in `broker/api/table.go`; `make docs` writes it again.\n\n" +
		"A request of a key or version that is not served closes the connection, as in Apache Kafka; ApiVersions is always answered.\n\n" +
		"| key | API | advertised | served | note |\n|--:|--|--|--|--|\n")
	for _, r := range table {
		if r.internal {
			out = fmt.Appendf(out, "| %d | %s | – | %d–%d | between brokers%s |\n", r.key, r.name, r.min, r.max, prefixed("; ", r.note))
			continue
		}
		out = fmt.Appendf(out, "| %d | %s | %d–%d | %d–%d | %s |\n", r.key, r.name, r.advertisedMin, r.max, r.min, r.max, r.note)
	}
	_, err := w.Write(out)
	return err
}

func prefixed(by, text string) string {
	if text == "" {
		return ""
	}
	return by + text
}
