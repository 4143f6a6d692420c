package znode

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// openOffsets takes over partition 0 of __consumer_offsets.
func openOffsets(t *testing.T, c *Client, leaderEpoch int32) *OffsetsWriter {
	t.Helper()
	w, err := c.OpenOffsets(testContext(t), 0, 1, leaderEpoch)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func set(group, topic string, partition int32, offset int64) OffsetWrite {
	return OffsetWrite{Group: group, TopicPartition: TopicPartition{topic, partition}, Offset: offset}
}

func removed(w OffsetWrite) OffsetWrite { w.Remove = true; return w }

func write(t *testing.T, w *OffsetsWriter, writes ...OffsetWrite) {
	t.Helper()
	if err := w.Write(testContext(t), writes); err != nil {
		t.Fatal(err)
	}
}

// offsets reads what a writer of a later epoch finds, as "group topic-partition offset".
func offsets(t *testing.T, c *Client, leaderEpoch int32) (list []string) {
	t.Helper()
	ctx := testContext(t)
	groups, err := c.ConsumerGroups(ctx)
	if err != nil {
		t.Fatal(err)
	}
	found, err := openOffsets(t, c, leaderEpoch).Read(ctx, groups)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range found {
		if o.Modified.IsZero() {
			t.Errorf("%+v: no time of writing", o)
		}
		list = append(list, fmt.Sprintf("%s %s-%d %d", o.Group, o.Topic, o.Partition, o.Offset))
	}
	slices.Sort(list)
	return list
}

// TestOffsetsInTheOldLayout: each offset is a plain integer where Kafka 0.8 had it,
// and what is removed leaves no empty nodes behind.
func TestOffsetsInTheOldLayout(t *testing.T) {
	s := startServer(t)
	c := connect(t, s, Options{Chroot: "/kafka"})
	ctx := testContext(t)
	w := openOffsets(t, c, 0)
	write(t, w, set("billing", "orders", 0, 42), set("billing", "orders", 1, 0), set("audit", "orders", 0, 1<<40))
	write(t, w, set("billing", "orders", 0, 43), set("billing", "returns", 7, 5))
	data, _, err := c.get(ctx, "/consumers/billing/offsets/orders/0")
	if err != nil || string(data) != "43" {
		t.Errorf("the node holds %q, %v, want 43", data, err)
	}
	want := []string{"audit orders-0 1099511627776", "billing orders-0 43", "billing orders-1 0", "billing returns-7 5"}
	if diff := cmp.Diff(want, offsets(t, c, 0)); diff != "" {
		t.Errorf("offsets (-want +got):\n%s", diff)
	}
	w = openOffsets(t, c, 0)
	write(t, w, removed(set("billing", "orders", 0, 0)), removed(set("billing", "nosuch", 0, 0)), set("billing", "orders", 1, 9), removed(set("audit", "orders", 0, 0)))
	if diff := cmp.Diff([]string{"billing orders-1 9", "billing returns-7 5"}, offsets(t, c, 0)); diff != "" {
		t.Errorf("offsets after some are removed (-want +got):\n%s", diff)
	}
	if groups, err := c.ConsumerGroups(ctx); err != nil || !slices.Equal(groups, []string{"billing"}) {
		t.Errorf("the groups are %v, %v, want billing alone", groups, err)
	}
}

// TestManyOffsets need many requests.
func TestManyOffsets(t *testing.T) {
	c := connect(t, startServer(t), Options{})
	w := openOffsets(t, c, 3)
	var first, second []OffsetWrite
	for i := range int32(350) {
		first = append(first, set(fmt.Sprint("g", i%7), "orders", i, int64(i)))
		second = append(second, set(fmt.Sprint("g", i%7), "orders", i, int64(2*i)))
	}
	write(t, w, first...)
	write(t, w, second...)
	got := offsets(t, c, 3)
	if len(got) != 350 || !slices.Contains(got, "g6 orders-349 698") {
		t.Errorf("%d offsets, want 350 with g6's of orders-349 at 698", len(got))
	}
}

// TestForeignHands: what others do to the nodes is put up with.
func TestForeignHands(t *testing.T) {
	c := connect(t, startServer(t), Options{})
	ctx := testContext(t)
	w := openOffsets(t, c, 0)
	write(t, w, set("g", "orders", 0, 1), set("g", "orders", 1, 1))
	if err := c.remove(ctx, "/consumers/g/offsets/orders/0"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/consumers/g/ids", "/consumers/g/offsets/orders/x", "/consumers/g/offsets/orders/2", "/consumers/old"} {
		if err := c.ensure(ctx, path); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.setOnce(ctx, "/consumers/g/offsets/orders/2", []byte("many"), 0); err != nil {
		t.Fatal(err)
	}
	write(t, w, set("g", "orders", 0, 2), set("g", "orders", 1, 2), set("g", "orders", 2, 2))
	if diff := cmp.Diff([]string{"g orders-0 2", "g orders-1 2", "g orders-2 2"}, offsets(t, c, 0)); diff != "" {
		t.Errorf("offsets (-want +got):\n%s", diff)
	}
}

// TestOneWriterOfOffsets: who was replaced writes nothing more, and does not come
// back in an older leader epoch.
func TestOneWriterOfOffsets(t *testing.T) {
	s := startServer(t)
	c, other := connect(t, s, Options{}), connect(t, s, Options{})
	old := openOffsets(t, c, 4)
	write(t, old, set("g", "orders", 0, 1))
	next := openOffsets(t, other, 5)
	for _, w := range []OffsetWrite{set("g", "orders", 0, 7), set("g", "orders", 1, 7), removed(set("g", "orders", 0, 0))} {
		if err := old.Write(testContext(t), []OffsetWrite{w}); !errors.Is(err, ErrOffsetsFenced) {
			t.Errorf("%+v by the writer before: got %v, want %v", w, err, ErrOffsetsFenced)
		}
	}
	if _, err := c.OpenOffsets(testContext(t), 0, 1, 4); !errors.Is(err, ErrOffsetsFenced) {
		t.Errorf("an older epoch takes over: got %v, want %v", err, ErrOffsetsFenced)
	}
	write(t, next, set("g", "orders", 0, 2))
	if diff := cmp.Diff([]string{"g orders-0 2"}, offsets(t, c, 6)); diff != "" {
		t.Errorf("offsets (-want +got):\n%s", diff)
	}
}

// TestLostRepliesOfOffsets is C05 for offsets.
func TestLostRepliesOfOffsets(t *testing.T) {
	c, p, direct := throughProxy(t, lasts)
	ctx := testContext(t)
	if err := c.EnsureLayout(ctx); err != nil {
		t.Fatal(err)
	}
	lose := func(opcode int32, do func()) {
		t.Helper()
		before := p.lostReplies()
		p.loseReply(opcode)
		do()
		if p.lostReplies() == before {
			t.Error("no reply was lost")
		}
	}
	var w *OffsetsWriter
	lose(opCreate, func() { w = openOffsets(t, c, 0) })
	lose(opMulti, func() { write(t, w, set("g", "orders", 0, 1)) })
	lose(opMulti, func() { write(t, w, set("g", "orders", 0, 2)) })
	lose(opSetData, func() { w = openOffsets(t, c, 0) })
	lose(opMulti, func() { write(t, w, set("g", "orders", 1, 3)) })
	lose(opMulti, func() { write(t, w, removed(set("g", "orders", 0, 0))) })
	if diff := cmp.Diff([]string{"g orders-1 3"}, offsets(t, direct, 1)); diff != "" {
		t.Errorf("offsets (-want +got):\n%s", diff)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := w.Write(ended, []OffsetWrite{set("g", "orders", 1, 4)}); !cmp.Equal(err, context.Canceled, cmpopts.EquateErrors()) {
		t.Errorf("a write after its end: got %v", err)
	}
}

func TestNodeName(t *testing.T) {
	for _, good := range []string{"g", "billing.daily", "...", "größe", "a b", strings.Repeat("g", 300)} {
		if !NodeName(good) {
			t.Errorf("%q is refused", good)
		}
	}
	for _, bad := range []string{"", ".", "..", "a/b", "/", "a\x00", "a\nb", "\x7f", "\u009f", "\ue000", "\uffff"} {
		if NodeName(bad) {
			t.Errorf("%q is taken", bad)
		}
	}
}
