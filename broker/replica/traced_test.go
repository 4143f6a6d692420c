package replica

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/broker/peer"
	"tidemark/commitlog"
	"tidemark/internal/clock"
	"tidemark/internal/golden"
	"tidemark/internal/trace"
	"tidemark/internal/vfs"
	"tidemark/replication"
)

// stepped are three managers with the partition t-0, whose followers fetch when a test
// lets them. Each has a trace.
type stepped struct {
	t        *testing.T
	managers [4]*Manager
	traces   [4]*bytes.Buffer
	writers  [4]*trace.Writer
	// turn lets a follower fetch once; came says that it is about to.
	turn, came [4]chan struct{}
}

func newStepped(t *testing.T) *stepped {
	c := &stepped{t: t}
	var events atomic.Int64
	for id := int32(1); id <= 3; id++ {
		c.turn[id], c.came[id] = make(chan struct{}), make(chan struct{}, 1)
		c.traces[id] = &bytes.Buffer{}
		c.writers[id] = trace.NewWriter(c.traces[id])
		o := hostOptions(vfs.NewMem(), "/a")
		o.BrokerID, o.Clock, o.LagTimeMax, o.Leaders = id, clock.Real{}, time.Hour, steppedLink{c, id}
		o.Trace = trace.NewClockedTracer(id, c.writers[id], 0, func() time.Duration { return time.Duration(events.Add(1)) })
		o.Config = func(string) TopicConfig {
			config := NewTopicConfig()
			config.AppendEngine, config.ReadEngine, config.MinInsyncReplicas = "buffered", "pread", 2
			return config
		}
		m := New(o)
		if err := m.Open(context.Background()); err != nil {
			t.Fatal(err)
		}
		c.managers[id] = m
		t.Cleanup(func() {
			if err := m.Close(replication.NoBrokerEpoch); err != nil {
				t.Error(err)
			}
		})
	}
	for id := int32(1); id <= 3; id++ {
		s := State{Topic: "t", TopicID: [16]byte{7}, Leader: 1, LeaderEpoch: 1, Replicas: []int32{1, 2, 3}, ISR: Members(1, 2, 3), IsNew: true}
		if err := c.managers[id].Apply([]State{s}).Err(); err != nil {
			t.Fatal(err)
		}
		if id > 1 {
			<-c.came[id]
		}
	}
	return c
}

// fetch lets a follower fetch once, and waits until it has done with the answer.
func (c *stepped) fetch(id int32) {
	c.turn[id] <- struct{}{}
	<-c.came[id]
}

type steppedLink struct {
	c    *stepped
	from int32
}

func (l steppedLink) Fetch(ctx context.Context, leader int32, _ int, r peer.FetchRequest, took func(*peer.FetchedPartition)) error {
	l.c.came[l.from] <- struct{}{}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-l.c.turn[l.from]:
	}
	q := &r.Partitions[0]
	p := l.c.managers[leader].Partition("t", 0)
	f := ReplicaFetch{Replica: l.from, BrokerEpoch: r.BrokerEpoch, Dir: q.Dir, LeaderEpoch: q.LeaderEpoch, Offset: q.FetchOffset, LastEpoch: q.LastFetchedEpoch, Correlation: r.Correlation}
	told := p.FetchAsReplica(&f)
	a, _ := link{}.answer(l.c.managers[leader], &r, q, &told, true)
	p.TraceAnswer(&f, a.HighWatermark, int64(len(a.Records)), "")
	took(&a)
	return nil
}

// merged are the events of all in their order: the time of an event is its number among
// those of all.
func (c *stepped) merged(each func(*trace.Event)) {
	c.t.Helper()
	var all []io.Reader
	for id := 1; id <= 3; id++ {
		if err := c.writers[id].Flush(); err != nil {
			c.t.Fatal(err)
		}
		all = append(all, bytes.NewReader(c.traces[id].Bytes()))
	}
	if err := trace.Merge(all, func(e *trace.Event) error { each(e); return nil }); err != nil {
		c.t.Fatal(err)
	}
}

// TestThreeRoundsAsSimulated plays the story of the high watermark in three rounds
// with real replicas: they do what the simulator's do, in the same order.
func TestThreeRoundsAsSimulated(t *testing.T) {
	const story = "../../replication/testdata/01-high-watermark-in-three-rounds.txt"
	text, err := os.ReadFile(story)
	if err != nil {
		t.Fatal(err)
	}
	c := newStepped(t)
	want := c.play(string(text))
	var got, all []string
	c.managers[1].partitions()[0].tick() // tells what waits to be told
	c.merged(func(e *trace.Event) {
		switch e.Kind {
		case trace.Append:
			got = append(got, fmt.Sprintf("%d appends %d", e.ID.Broker, e.Records))
		case trace.HW:
			got = append(got, fmt.Sprintf("%d high watermark %d → %d", e.ID.Broker, e.From, e.To))
		}
		e.At = 0
		all = append(all, strings.TrimPrefix(string(trace.AppendText(nil, e)), "0s "))
	})
	if len(want) < 6 || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the replicas' trace:\n%s\nthe simulator's story %s:\n%s", strings.Join(got, "\n"), story, strings.Join(want, "\n"))
	}
	golden.Check(t, "testdata/three-rounds.txt", strings.Join(all, "\n")+"\n")
}

var (
	storyAppend  = regexp.MustCompile(`^append 1 (.*)$`)
	storyFetch   = regexp.MustCompile(`^fetch (\d)$`)
	storyAppends = regexp.MustCompile(`^  (\d) appends (.*)$`)
	storyHW      = regexp.MustCompile(`^  (\d high watermark \d+ → \d+)$`)
)

// play does what a story says and returns what it says came of it.
func (c *stepped) play(story string) (want []string) {
	c.t.Helper()
	for line := range strings.Lines(story) {
		line = strings.TrimRight(line, "\n")
		if m := storyAppend.FindStringSubmatch(line); m != nil {
			values := strings.Fields(m[1])
			want = append(want, fmt.Sprintf("1 appends %d", len(values)))
			if _, _, err := c.managers[1].Partition("t", 0).Append(testBatch(values...), AckAll, commitlog.Client); err != nil {
				c.t.Fatal(err)
			}
		}
		if m := storyFetch.FindStringSubmatch(line); m != nil {
			c.fetch(int32(m[1][0] - '0'))
		}
		if m := storyAppends.FindStringSubmatch(line); m != nil {
			want = append(want, fmt.Sprintf("%s appends %d", m[1], len(strings.Fields(m[2]))))
		}
		if m := storyHW.FindStringSubmatch(line); m != nil {
			want = append(want, m[1])
		}
	}
	return want
}

// TestFastAppendsAreToldTogether: a partition that is written to without end tells no
// more than it may, and still tells of every record.
func TestFastAppendsAreToldTogether(t *testing.T) {
	c := newStepped(t)
	p := c.managers[1].Partition("t", 0)
	const n = 20 * trace.PaceEvents
	began := time.Now()
	for i := range n {
		if _, _, err := p.Append(testBatch(fmt.Sprint(i)), 1, commitlog.Client); err != nil {
			t.Fatal(err)
		}
	}
	windows := int(time.Since(began)/trace.PaceWindow) + 2
	p.tick()
	events, next := 0, int64(0)
	c.merged(func(e *trace.Event) {
		if e.Kind != trace.Append || e.ID.Broker != 1 {
			return
		}
		if e.From != next || e.Records != int32(e.To-e.From) {
			t.Errorf("got %s after offset %d", trace.AppendText(nil, e), next)
		}
		events, next = events+1, e.To
	})
	if next != n || events > windows*trace.PaceEvents+1 {
		t.Errorf("%d events tell of %d records in %d windows of %d, want all of %d", events, next, windows, trace.PaceEvents, n)
	}
}
