package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/clock"
	"tidemark/protocol/wire"
	"tidemark/replication"
)

var background = context.Background()

// TestEveryCall sends each message over a connection and checks both ends.
func TestEveryCall(t *testing.T) {
	state := PartitionState{Topic: "t", TopicID: [16]byte{1}, Index: 2, Leader: 3,
		ISR: []replication.Member{{Broker: 3, BrokerEpoch: 30, Dir: replication.DirID{9}}}, ELR: []replication.Member{{Broker: 4, BrokerEpoch: 40}}}
	result := PartitionResult{Topic: "t", Index: 2, ErrorCode: 6}
	part := TopicPartition{"t", 2}
	handlers := map[int16]func(request) kmsg.Response{
		4: func(r request) kmsg.Response {
			var req kmsg.LeaderAndISRRequest
			r.read(t, &req)
			got, err := DecodeLeaderAndISR(&req)
			if err != nil || got.BrokerEpoch != 7 || got.Partitions[0].ISR[0].Dir != (replication.DirID{9}) || got.Partitions[0].ELR[0].BrokerEpoch != 40 {
				t.Errorf("LeaderAndISR arrived as %+v, %v", got, err)
			}
			return EncodeLeaderAndISRAnswer(LeaderAndISRAnswer{Partitions: []LeaderAndISRResult{{TopicID: [16]byte{1}, Index: 2}}})
		},
		5: func(request) kmsg.Response {
			return EncodeStopReplicaAnswer(StopReplicaAnswer{Partitions: []PartitionResult{result}})
		},
		6: func(request) kmsg.Response { return EncodeUpdateMetadataAnswer(UpdateMetadataAnswer{77}) },
		7: func(request) kmsg.Response {
			return EncodeControlledShutdownAnswer(ControlledShutdownAnswer{Remaining: []TopicPartition{part}})
		},
		56: func(request) kmsg.Response {
			return EncodeAlterPartitionAnswer(AlterPartitionAnswer{Partitions: []ProposalResult{{Index: 2, ISR: state.ISR, ELR: state.ELR}}})
		},
		27: func(request) kmsg.Response {
			return encodeWriteTxnMarkersAnswer(WriteTxnMarkersAnswer{[]TxnMarkerResult{{5, []PartitionResult{result}}}})
		},
		24: func(request) kmsg.Response {
			return encodeAddPartitionsToTxnAnswer(AddPartitionsToTxnAnswer{Transactions: []TxnPartitionsResult{{"id", []PartitionResult{result}}}})
		},
		19: func(r request) kmsg.Response {
			var req kmsg.CreateTopicsRequest
			r.read(t, &req)
			resp := &kmsg.CreateTopicsResponse{Topics: []kmsg.CreateTopicsResponseTopic{{Topic: "t", ErrorCode: 36, ErrorMessage: kmsg.StringPtr("exists")}}}
			if got := req.Topics[0]; got.Topic != "t" || got.NumPartitions != -1 || got.ReplicationFactor != -1 || req.TimeoutMillis <= 0 {
				t.Errorf("CreateTopics arrived as %+v", req)
			}
			return resp
		},
		2: func(r request) kmsg.Response {
			var req kmsg.ListOffsetsRequest
			r.read(t, &req)
			if got := req.Topics[0].Partitions[0]; got.Partition != 2 || got.CurrentLeaderEpoch != 6 || got.Timestamp != -1 || req.ReplicaID != -1 {
				t.Errorf("ListOffsets arrived as %+v", req)
			}
			return &kmsg.ListOffsetsResponse{Topics: []kmsg.ListOffsetsResponseTopic{{Topic: "t",
				Partitions: []kmsg.ListOffsetsResponseTopicPartition{{Partition: 2, ErrorCode: 78, Offset: 11}}}}}
		},
		wire.KeyFenceReplica: func(r request) kmsg.Response {
			var req FenceReplica
			r.read(t, &req)
			return &FenceReplicaAnswer{LeaderEpoch: req.LeaderEpoch, LastEpoch: 3, LogEndOffset: 11}
		},
	}
	fake := newFake(t, 2, func(c *fakeConn) {
		for r, ok := c.next(); ok; r, ok = c.next() {
			if string(r.ClientID) != "broker-1" {
				t.Errorf("client id is %q", r.ClientID)
			}
			c.answer(r, handlers[r.Key](r))
		}
	})
	p := newTestPool(t, Options{}, fake)
	for range 2 {
		leader, err1 := p.LeaderAndISR(background, 2, LeaderAndISR{BrokerEpoch: 7, Partitions: []PartitionState{state}})
		stop, err2 := p.StopReplica(background, 2, StopReplica{Partitions: []StopPartition{{Topic: "t", Index: 2, Delete: true}}})
		update, err3 := p.UpdateMetadata(background, 2, UpdateMetadata{Partitions: []PartitionState{state}})
		shutdown, err4 := p.ControlledShutdown(background, 2, ControlledShutdown{Broker: 1})
		alter, err5 := p.AlterPartition(background, 2, AlterPartition{Broker: 1, Partitions: []Proposal{{Index: 2}}})
		marked, err6 := p.WriteTxnMarkers(background, 2, WriteTxnMarkers{[]TxnMarker{{ProducerID: 5, Partitions: []TopicPartition{part}}}})
		added, err7 := p.AddPartitionsToTxn(background, 2, AddPartitionsToTxn{[]TxnPartitions{{ID: "id", VerifyOnly: true, Partitions: []TopicPartition{part}}}})
		fence, err8 := p.FenceReplica(background, 2, FenceReplica{Topic: "t", Index: 2, LeaderEpoch: 6})
		code, text, err9 := p.CreateTopic(background, 2, "t")
		unavailable, offset, err10 := p.LatestOffset(background, 2, "t", 2, 6)
		if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8, err9, err10); err != nil {
			t.Fatal(err)
		}
		got := []any{leader.Partitions[0].Index, stop.Partitions, update.ErrorCode, shutdown.Remaining, alter.Partitions[0].ISR, alter.Partitions[0].ELR,
			marked.Markers[0].Partitions, added.Transactions[0].Partitions, fence, code, text, unavailable, offset}
		want := []any{int32(2), []PartitionResult{result}, wire.StaleBrokerEpoch, []TopicPartition{part}, state.ISR, state.ELR,
			[]PartitionResult{result}, []PartitionResult{result}, FenceReplicaAnswer{LeaderEpoch: 6, LastEpoch: 3, LogEndOffset: 11},
			wire.TopicAlreadyExists, "exists", wire.OffsetNotAvailable, int64(11)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("answers differ (-want +got):\n%s", diff)
		}
	}
}

func TestFetchOverAConnection(t *testing.T) {
	fake := newFake(t, 2, func(c *fakeConn) {
		for r, ok := c.next(); ok; r, ok = c.next() {
			w := wire.NewFetchWriter(r.Header, wire.FetchHead{}, 1)
			w.Topic("", [16]byte{4}, 1)
			w.Partition(&wire.FetchPartition{Index: 5, ErrorCode: wire.FencedLeaderEpoch, HighWatermark: 6, LastStableOffset: 7, LogStartOffset: 8,
				DivergingEpoch: &wire.EpochEnd{Epoch: 9, EndOffset: 10}})
			out := w.Finish(nil)
			_, _ = out.WriteTo(c.Conn) // the pool sees what arrives
			out.Release()
		}
	})
	p := newTestPool(t, Options{}, fake)
	for range 3 {
		var got []FetchedPartition
		err := p.Fetch(background, 2, 0, FetchRequest{ReplicaID: 1, Partitions: []FetchPartition{{TopicID: [16]byte{4}, Index: 5}}},
			func(a *FetchedPartition) { got = append(got, *a) })
		if err != nil {
			t.Fatal(err)
		}
		want := []FetchedPartition{{TopicID: [16]byte{4}, Index: 5, ErrorCode: wire.FencedLeaderEpoch, HighWatermark: 6, LastStableOffset: 7, LogStartOffset: 8,
			DivergingEpoch: 9, DivergingEnd: 10, CurrentLeader: -1, CurrentLeaderEpoch: -1}}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("partitions differ (-want +got):\n%s", diff)
		}
	}
}

// TestSlowFetchHoldsUpNobody: other fetchers and the controller have connections
// of their own.
func TestSlowFetchHoldsUpNobody(t *testing.T) {
	release := make(chan struct{})
	fake := newFake(t, 2, func(c *fakeConn) {
		for r, ok := c.next(); ok; r, ok = c.next() {
			if r.Key == wire.KeyFetch && c.number == 0 {
				<-release
			}
			c.answer(r, emptyResponse(r))
		}
	})
	p := newTestPool(t, Options{}, fake)
	slow := make(chan error, 1)
	go func() {
		err := p.Fetch(background, 2, 0, FetchRequest{}, ignore)
		slow <- err
	}()
	await(t, func() bool { return fake.connections() == 1 })
	if _, err := p.UpdateMetadata(background, 2, UpdateMetadata{}); err != nil {
		t.Errorf("the controller's word behind a slow fetch: %v", err)
	}
	if err := p.Fetch(background, 2, 1, FetchRequest{}, ignore); err != nil {
		t.Fatalf("another fetcher behind a slow fetch: %v", err)
	}
	close(release)
	if err := <-slow; err != nil {
		t.Error(err)
	}
}

func ignore(*FetchedPartition) {}

func (f *fakeBroker) connections() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.conns)
}

// await polls until what must happen has happened.
func await(t *testing.T, happened func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !happened(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen")
		}
	}
}

// TestBrokenAnswers: each ends its call, with its request perhaps done, and the
// next call has a new connection.
func TestBrokenAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		first  func(c *fakeConn, r request)
		reason error
	}{
		{"no answer in time", func(c *fakeConn, _ request) { hold(c) }, ErrNoAnswer},
		{"closed instead of an answer", func(*fakeConn, request) {}, io.EOF},
		{"reset instead of an answer", func(c *fakeConn, _ request) { _ = c.Conn.(*net.TCPConn).SetLinger(0) }, nil},
		{"half a length", func(c *fakeConn, _ request) { _, _ = c.Write([]byte{0, 0}) }, io.ErrUnexpectedEOF},
		{"reset in mid-frame", func(c *fakeConn, r request) {
			c.send(100, byte(r.CorrelationID>>24), byte(r.CorrelationID>>16), byte(r.CorrelationID>>8), byte(r.CorrelationID))
		}, io.ErrUnexpectedEOF},
		{"another's answer", func(c *fakeConn, r request) { r.CorrelationID++; c.answer(r, emptyResponse(r)); hold(c) }, ErrMalformed},
		{"too large a frame", func(c *fakeConn, _ request) { c.send(1 << 20); hold(c) }, wire.ErrFrameSize},
		{"a frame of negative size", func(c *fakeConn, _ request) { c.send(-1); hold(c) }, wire.ErrFrameSize},
		{"no header", func(c *fakeConn, _ request) { c.send(2, 0, 0); hold(c) }, ErrMalformed},
		{"half a body", func(c *fakeConn, r request) {
			c.send(6, byte(r.CorrelationID>>24), byte(r.CorrelationID>>16), byte(r.CorrelationID>>8), byte(r.CorrelationID), 0, 0)
			hold(c)
		}, nil},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			fake := newFake(t, 2, func(conn *fakeConn) {
				if conn.number > 0 {
					obey(conn)
				} else if r, ok := conn.next(); ok {
					c.first(conn, r)
				}
			})
			limit := patience
			if errors.Is(c.reason, ErrNoAnswer) {
				limit = time.Second // in which the request must have been sent
			}
			p := newTestPool(t, Options{ControlTimeout: limit, MaxFrame: 1 << 16}, fake)
			_, err := p.UpdateMetadata(background, 2, UpdateMetadata{})
			var call *CallError
			if !errors.As(err, &call) || !call.Sent || call.Broker != 2 || call.Request != "UpdateMetadata" {
				t.Fatalf("got %#v, want an error of a call that was sent", err)
			}
			if c.reason != nil && !errors.Is(err, c.reason) {
				t.Errorf("got %v, want %v", err, c.reason)
			}
			eventually(t, p)
			if fake.connections() < 2 {
				t.Error("the broken connection was used again")
			}
		})
	}
}

// eventually calls until a call goes well: the limits of these tests may be too
// short for a machine that is busy.
func eventually(t *testing.T, p *Pool) {
	t.Helper()
	await(t, func() bool { _, err := p.UpdateMetadata(background, 2, UpdateMetadata{}); return err == nil })
}

// TestRestartedPeer: the connection of its former life is found out before a
// request is lost on it.
func TestRestartedPeer(t *testing.T) {
	before := newFake(t, 2, obey)
	p := newTestPool(t, Options{}, before)
	if _, err := p.UpdateMetadata(background, 2, UpdateMetadata{}); err != nil {
		t.Fatal(err)
	}
	address := before.listen.Addr().String()
	before.close()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("somebody took the port: %v", err)
	}
	serveFake(t, 2, l, obey)
	if _, err := p.UpdateMetadata(background, 2, UpdateMetadata{}); err != nil {
		t.Errorf("the first call after the restart: %v", err)
	}
}

// TestUnaskedBytes: a connection with bytes on it that nobody asked for is given
// up before they are taken for an answer.
func TestUnaskedBytes(t *testing.T) {
	fake := newFake(t, 2, func(c *fakeConn) {
		for r, ok := c.next(); ok; r, ok = c.next() {
			var frame bytes.Buffer
			out := wire.NewResponse(r.Header, emptyResponse(r))
			_, _ = out.WriteTo(&frame) // memory
			out.Release()
			_, _ = c.Write(append(frame.Bytes(), frame.Bytes()...)) // in one segment
		}
	})
	p := newTestPool(t, Options{}, fake)
	for range 3 {
		if _, err := p.UpdateMetadata(background, 2, UpdateMetadata{}); err != nil {
			t.Fatal(err)
		}
	}
	if n := fake.connections(); n != 3 {
		t.Errorf("%d connections, want one for each call", n)
	}
}

// TestPeerThatDoesNotRead: a request that does not fit into the buffers between
// is given up in time.
func TestPeerThatDoesNotRead(t *testing.T) {
	fake := newFake(t, 2, func(c *fakeConn) { var one [1]byte; _, _ = c.Read(one[:]); <-c.end })
	p := newTestPool(t, Options{ControlTimeout: 2 * time.Second}, fake)
	_, err := p.StopReplica(background, 2, StopReplica{Partitions: []StopPartition{{Topic: strings.Repeat("t", 16<<20)}}})
	var call *CallError
	if !errors.Is(err, ErrNoAnswer) || !errors.As(err, &call) || !call.Sent {
		t.Errorf("got %v, want no answer to a request that may have arrived", err)
	}
}

// TestBackoff: attempts to connect wait, twice as long each time up to a limit,
// and an answer forgets the failures.
func TestBackoff(t *testing.T) {
	time0 := time.Unix(1000, 0)
	manual := &watchedClock{Manual: clock.NewManual(time0), set: make(chan time.Duration)}
	var dials atomic.Int32
	var reachable atomic.Bool
	fake := newFake(t, 2, obey)
	dial := dialTCP("")
	p := newTestPool(t, Options{Clock: manual, FirstBackoff: 50 * time.Millisecond, MaxBackoff: 120 * time.Millisecond,
		Dial: func(ctx context.Context, to Broker) (net.Conn, error) {
			dials.Add(1)
			if !reachable.Load() {
				return nil, errors.New("nobody there")
			}
			return dial(ctx, to)
		}}, fake)
	try := func(pause time.Duration) error {
		result := make(chan error, 1)
		go func() { _, err := p.UpdateMetadata(background, 2, UpdateMetadata{}); result <- err }()
		if pause > 0 {
			if got := <-manual.set; got != pause {
				t.Errorf("attempt %d waits %v, want %v", dials.Load()+1, got, pause)
			}
			manual.Advance(pause)
		}
		return <-result
	}
	for _, pause := range []time.Duration{0, 50 * time.Millisecond, 100 * time.Millisecond, 120 * time.Millisecond, 120 * time.Millisecond} {
		if err := try(pause); err == nil || !strings.Contains(err.Error(), "nobody there") {
			t.Errorf("got %v", err)
		}
	}
	reachable.Store(true)
	if err := try(120 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if err := try(0); err != nil || dials.Load() != 6 {
		t.Errorf("%v after %d attempts to connect, want 6: there is a connection", err, dials.Load())
	}
	reachable.Store(false)
	fake.close()
	if err := try(0); err == nil {
		t.Error("a call to nobody went well")
	}
	if err := try(50 * time.Millisecond); err == nil {
		t.Error("a call to nobody went well")
	}
}

// watchedClock tells of every timer that is set.
type watchedClock struct {
	*clock.Manual
	set chan time.Duration
}

func (c *watchedClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	timer := c.Manual.AfterFunc(d, f)
	c.set <- d
	return timer
}

// TestWhatEndsACall: the caller's context, the pool, the news that the broker is
// gone; at each stage of a call.
func TestWhatEndsACall(t *testing.T) {
	stages := map[string]func(t *testing.T) (*Pool, func()){
		"waiting for an answer": func(t *testing.T) (*Pool, func()) {
			arrived := make(chan struct{}, 1)
			fake := newFake(t, 2, func(c *fakeConn) {
				if _, ok := c.next(); ok {
					arrived <- struct{}{}
					hold(c)
				}
			})
			return newTestPool(t, Options{}, fake), func() { <-arrived }
		},
		"waiting for its turn": func(t *testing.T) (*Pool, func()) {
			fake := newFake(t, 2, hold)
			p := newTestPool(t, Options{}, fake)
			var first sync.WaitGroup
			first.Add(1)
			go func() { defer first.Done(); _, _ = p.UpdateMetadata(background, 2, UpdateMetadata{}) }()
			t.Cleanup(func() { p.Close(); first.Wait() })
			await(t, func() bool { return fake.connections() == 1 })
			return p, nil
		},
		"connecting": func(t *testing.T) (*Pool, func()) {
			dialing := make(chan struct{}, 1)
			dial := func(ctx context.Context, _ Broker) (net.Conn, error) {
				dialing <- struct{}{}
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return newTestPool(t, Options{Dial: dial}, newFake(t, 2, hold)), func() { <-dialing }
		},
		"pausing": func(t *testing.T) (*Pool, func()) {
			dial := func(context.Context, Broker) (net.Conn, error) { return nil, errors.New("nobody there") }
			clock := &watchedClock{Manual: clock.NewManual(time.Unix(1000, 0)), set: make(chan time.Duration)}
			p := newTestPool(t, Options{Dial: dial, Clock: clock}, newFake(t, 2, hold))
			if _, err := p.UpdateMetadata(background, 2, UpdateMetadata{}); err == nil {
				t.Fatal("a call to nobody went well")
			}
			return p, func() { <-clock.set }
		},
	}
	for stage, prepare := range stages {
		for _, end := range []struct {
			name string
			by   func(*Pool, context.CancelFunc)
			want error
		}{
			{"cancelled", func(_ *Pool, cancel context.CancelFunc) { cancel() }, context.Canceled},
			{"closed", func(p *Pool, _ context.CancelFunc) { p.Close() }, ErrClosed},
			{"broker gone", func(p *Pool, _ context.CancelFunc) { p.SetBrokers(nil) }, ErrUnknownBroker},
			{"broker moved", func(p *Pool, _ context.CancelFunc) { p.SetBrokers([]Broker{{ID: 2, Host: "127.0.0.1", Port: 1}}) }, ErrUnknownBroker},
		} {
			t.Run(strings.ReplaceAll(stage+"/"+end.name, " ", "-"), func(t *testing.T) {
				p, there := prepare(t)
				if there == nil && end.name == "broker moved" {
					return // whether the call has begun to wait cannot be seen; a late one goes to the new address
				}
				ctx, cancel := context.WithCancel(background)
				defer cancel()
				result := make(chan error, 1)
				go func() { _, err := p.UpdateMetadata(ctx, 2, UpdateMetadata{}); result <- err }()
				if there != nil {
					there()
				}
				end.by(p, cancel)
				select {
				case err := <-result:
					var call *CallError
					if !errors.Is(err, end.want) || !errors.As(err, &call) || call.Sent != (stage == "waiting for an answer") {
						t.Errorf("got %#v, want %v", err, end.want)
					}
				case <-time.After(patience):
					t.Fatal("the call goes on")
				}
			})
		}
	}
}

// TestClosed: a closed pool returns at once, and so does one that does not know
// the broker.
func TestClosed(t *testing.T) {
	fake := newFake(t, 2, obey)
	p := newTestPool(t, Options{}, fake)
	if err := p.Fetch(background, 3, 0, FetchRequest{}, ignore); !errors.Is(err, ErrUnknownBroker) || err.Error() != "Fetch to broker 3: no such live broker" {
		t.Errorf("got %v", err)
	}
	if _, err := p.UpdateMetadata(background, 2, UpdateMetadata{}); err != nil {
		t.Fatal(err)
	}
	p.Close()
	p.SetBrokers([]Broker{fake.at})
	if _, err := p.UpdateMetadata(background, 2, UpdateMetadata{}); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
	p.Close()
	fake.listen.Close()
	fake.done.Wait() // the pool closed its end, or this would wait for ever
}

// TestSetBrokersKeepsWhoStays: the same broker, said again, keeps its
// connections; one that is gone has them closed.
func TestSetBrokersKeepsWhoStays(t *testing.T) {
	two, three := newFake(t, 2, obey), newFake(t, 3, obey)
	p := newTestPool(t, Options{}, two, three)
	call := func(broker int32) error {
		_, err := p.UpdateMetadata(background, broker, UpdateMetadata{})
		return err
	}
	if err := errors.Join(call(2), call(3)); err != nil {
		t.Fatal(err)
	}
	again := two.at
	again.Rack = "a rack is no address"
	p.SetBrokers([]Broker{again})
	if err := call(2); err != nil || two.connections() != 1 {
		t.Errorf("%v over %d connections, want the one that there was", err, two.connections())
	}
	three.listen.Close()
	three.done.Wait()
	if err := call(3); !errors.Is(err, ErrUnknownBroker) {
		t.Errorf("got %v", err)
	}
}

// TestGoneWhileAnswered: the broker goes as its answer is taken; whoever uses the
// connection then closes it.
func TestGoneWhileAnswered(t *testing.T) {
	for range 20 {
		fake := newFake(t, 2, obey)
		p := newTestPool(t, Options{}, fake)
		req := EncodeUpdateMetadata(UpdateMetadata{})
		_ = p.exchange(background, 2, purpose{kind: orders}, patience, exchange{ // may go well or not
			request: "UpdateMetadata",
			encode:  func(to []byte, correlation int32) []byte { return p.formatter.AppendRequest(to, req, correlation) },
			decode:  func([]byte) error { p.SetBrokers(nil); return nil },
		})
		fake.listen.Close()
		closed := make(chan struct{})
		go func() { fake.done.Wait(); close(closed) }()
		select {
		case <-closed:
		case <-time.After(patience):
			t.Fatal("the connection is open")
		}
	}
}

// TestManyCallers: calls of one purpose take turns, and each gets its own answer.
func TestManyCallers(t *testing.T) {
	fake := newFake(t, 2, func(c *fakeConn) {
		for r, ok := c.next(); ok; r, ok = c.next() {
			var req FenceReplica
			r.read(t, &req)
			c.answer(r, &FenceReplicaAnswer{LogEndOffset: int64(req.Index)})
		}
	})
	p := newTestPool(t, Options{}, fake)
	var all sync.WaitGroup
	for i := range int32(50) {
		all.Add(1)
		go func() {
			defer all.Done()
			a, err := p.FenceReplica(background, 2, FenceReplica{Index: i})
			if err != nil || a.LogEndOffset != int64(i) {
				t.Errorf("call %d got the answer of %d, %v", i, a.LogEndOffset, err)
			}
		}()
	}
	all.Wait()
	if got := fake.connections(); got != fenceLanes {
		t.Errorf("%d connections, want %d", got, fenceLanes)
	}
}

func TestBindAddress(t *testing.T) {
	from := make(chan string, 1)
	fake := newFake(t, 2, func(c *fakeConn) { from <- fmt.Sprint(c.RemoteAddr().(*net.TCPAddr).IP); obey(c) })
	p := newTestPool(t, Options{BindAddress: "127.0.0.1"}, fake)
	if _, err := p.UpdateMetadata(background, 2, UpdateMetadata{}); err != nil {
		t.Fatal(err)
	}
	if got := <-from; got != "127.0.0.1" {
		t.Errorf("connected from %s", got)
	}
}
