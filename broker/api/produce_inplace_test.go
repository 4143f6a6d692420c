package api

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/vfs"
	"tidemark/protocol/record"
	"tidemark/protocol/wire"
)

// waiting is the rest of a request that is still in a kernel, or fails to be read.
type waiting struct {
	rest []byte
	err  error
}

func (w *waiting) Len() int { return len(w.rest) }

func (w *waiting) ReadInto(memory []byte) ([]byte, error) {
	if w.err != nil {
		return nil, w.err
	}
	n := copy(memory, w.rest)
	return w.rest[n:], nil
}

// newMappedCluster has the topic "t" with two partitions of one record, under the
// mapped engine.
func newMappedCluster(t testing.TB, settings ...string) *cluster {
	t.Helper()
	c := newClusterOn(t, vfs.OS{}, t.TempDir(), nil)
	c.topic("t", 2, append([]string{"storage.append.engine", "mapped"}, settings...)...)
	c.produce("t", 0, batch(record.None, "first"))
	c.produce("t", 1, batch(record.None, "first"))
	return c
}

// frontBytes is how much of a body is handed over at first.
const frontBytes = 300

// early offers a request of which the front has been received.
func (c *cluster) early(req kmsg.Request, fail error) (f *fakeRequest, taken bool) {
	body := req.AppendTo(nil)
	f = newFakeRequest(c.t)
	taken = c.server.serveEarly(call{
		header: wire.Header{Key: req.Key(), Version: req.GetVersion(), CorrelationID: 7}, body: body[:frontBytes:frontBytes], to: f,
	}, &waiting{rest: body[frontBytes:], err: fail})
	return f, taken
}

// longBatch is more than a front.
func longBatch(values ...string) record.Batch {
	return batch(record.None, append(values, string(bytes.Repeat([]byte("v"), 1000)))...)
}

// TestInPlaceAnswersAsOrdinary sends every version both ways, to a partition each,
// and compares the whole answers and what can be fetched.
func TestInPlaceAnswersAsOrdinary(t *testing.T) {
	damaged := longBatch("damaged")
	damaged[len(damaged)-1] ^= 1
	for name, records := range map[string]record.Batch{"good": longBatch("good"), "damaged": damaged} {
		for _, acks := range []int16{1, -1} {
			c := newMappedCluster(t)
			for version := int16(3); version <= 11; version++ {
				ordinary := produceRequest(version, acks, "t", 0, bytes.Clone(records))
				want := do[*kmsg.ProduceResponse](c, ordinary)
				want.Topics[0].Partitions[0].Partition = 1
				inPlace := produceRequest(version, acks, "t", 1, bytes.Clone(records))
				f, taken := c.early(inPlace, nil)
				if !taken {
					t.Fatalf("%s, version %d: not received in place", name, version)
				}
				got := decode[*kmsg.ProduceResponse](t, inPlace, f.answered())
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(kmsg.Tags{})); diff != "" {
					t.Errorf("%s, version %d (-ordinary +in place):\n%s", name, version, diff)
				}
				if !f.offered {
					t.Errorf("%s, version %d: the next request was not asked for", name, version)
				}
			}
			want := c.fetched(c.fetchRequest(12, "t", 0, 0)).RecordBatches
			if got := c.fetched(c.fetchRequest(12, "t", 1, 0)).RecordBatches; !bytes.Equal(want, got) {
				t.Errorf("%s: fetched %d and %d bytes that differ", name, len(want), len(got))
			}
		}
	}
}

// What the ordinary way would answer otherwise, or the log cannot receive, is
// declined before anything is read.
func TestInPlaceDeclines(t *testing.T) {
	c := newMappedCluster(t)
	c.topic("buffered", 1)
	two := produceRequest(9, 1, "t", 0, longBatch("x"))
	two.Topics[0].Partitions = append(two.Topics[0].Partitions, two.Topics[0].Partitions[0])
	topics := produceRequest(9, 1, "t", 0, longBatch("x"))
	topics.Topics = append(topics.Topics, topics.Topics[0])
	long := string(bytes.Repeat([]byte("a"), 280))
	id := produceRequest(9, 1, "t", 0, longBatch("x"))
	id.TransactionID = &long
	for name, req := range map[string]kmsg.Request{
		"two partitions":    two,
		"two topics":        topics,
		"no such topic":     produceRequest(9, 1, "none", 0, longBatch("x")),
		"no such partition": produceRequest(9, 1, "t", 2, longBatch("x")),
		"another engine":    produceRequest(9, 1, "buffered", 0, longBatch("x")),
		"wrong acks":        produceRequest(9, 2, "t", 0, longBatch("x")),
		"front too short":   id,
		"another API":       c.fetchRequestOf(frontBytes + 100),
	} {
		f, taken := c.early(req, errors.New("it was read"))
		if taken || !f.waiting() {
			t.Errorf("%s: taken %v, answered %v, want it declined", name, taken, !f.waiting())
		}
	}
	for _, v := range []int16{2, 13} {
		req := produceRequest(9, 1, "t", 0, longBatch("x"))
		body := req.AppendTo(nil)
		f := newFakeRequest(t)
		if c.server.serveEarly(call{header: wire.Header{Key: 0, Version: v}, body: body[:frontBytes], to: f}, &waiting{rest: body[frontBytes:]}) {
			t.Errorf("version %d, which is not served, was taken", v)
		}
	}
}

// fetchRequestOf is a Fetch of some length.
func (c *cluster) fetchRequestOf(bytesAtLeast int) *kmsg.FetchRequest {
	req := c.fetchRequest(12, "t", 0, 0)
	for len(req.AppendTo(nil)) < bytesAtLeast {
		req.Topics = append(req.Topics, req.Topics[0])
	}
	return req
}

// A request that cannot be read after all is as if it had never been offered.
func TestInPlaceReadFails(t *testing.T) {
	c := newMappedCluster(t)
	req := produceRequest(9, 1, "t", 0, longBatch("x"))
	f, taken := c.early(req, errors.New("gone"))
	if taken || !f.waiting() {
		t.Fatalf("taken %v, want it declined", taken)
	}
	if got := c.produced(req).BaseOffset; got != 1 {
		t.Errorf("the request, sent whole, was given offset %d, want 1", got)
	}
}

// A request whose end is not what its version promises closes the connection, and
// its records, received already, leave no trace.
func TestInPlaceMalformedEnd(t *testing.T) {
	c := newMappedCluster(t)
	body := produceRequest(9, 1, "t", 0, longBatch("x")).AppendTo(nil)
	body[len(body)-1] = 9 // so many tagged fields follow
	f := newFakeRequest(t)
	taken := c.server.serveEarly(call{header: wire.Header{Version: 9}, body: body[:frontBytes], to: f}, &waiting{rest: body[frontBytes:]})
	if !taken {
		t.Fatal("declined: the test did not test it")
	}
	if o := f.answered(); !errors.Is(o.failure, wire.ErrMalformed) {
		t.Errorf("answered %+v, want the connection closed for a malformed request", o)
	}
	if got := c.produce("t", 0, longBatch("y")); got != 1 {
		t.Errorf("the next batch was given offset %d, want 1", got)
	}
}

// TestInPlaceAllocs: no more than on the ordinary way.
func TestInPlaceAllocs(t *testing.T) {
	c := newMappedCluster(t, "storage.validation", "header", "segment.bytes", "268435456")
	for _, version := range []int16{7, 9, 11} {
		whole := produceRequest(version, 1, "t", 0, longBatch("x")).AppendTo(nil)
		body := make([]byte, len(whole))
		header := wire.Header{Key: 0, Version: version, CorrelationID: 7}
		var to answerer = sender{}
		ordinary := testing.AllocsPerRun(500, func() {
			copy(body, whole)
			c.server.serve(call{header: header, body: body, to: to})
		})
		rest := &waiting{rest: whole[frontBytes:]}
		inPlace := testing.AllocsPerRun(500, func() {
			if !c.server.serveEarly(call{header: header, body: whole[:frontBytes], to: to}, rest) {
				t.Fatal("not taken")
			}
		})
		t.Logf("version %d: %v allocations, ordinary %v", version, inPlace, ordinary)
		const dropped = 2 // what pools lose at random under the race detector
		if inPlace > ordinary+dropped {
			t.Errorf("version %d: %v allocations, want no more than the %v of the ordinary way", version, inPlace, ordinary)
		}
	}
}
