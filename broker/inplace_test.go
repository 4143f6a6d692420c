package broker

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/protocol/record"
)

// rawProducer is a producer that sends what a client library would not.
type rawProducer struct {
	t    *testing.T
	name string
	conn net.Conn
	r    *bufio.Reader
	sent int32
	next int // number of the next record
}

func dialRaw(t *testing.T, b *Broker, name string) *rawProducer {
	conn, err := net.Dial("tcp", b.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	// Only a broken broker makes a test wait this long.
	if err := conn.SetDeadline(time.Now().Add(2 * patience)); err != nil {
		t.Fatal(err)
	}
	return &rawProducer{t: t, name: name, conn: conn, r: bufio.NewReader(conn)}
}

// recordsPerBatch make a batch of some 20 KiB.
const recordsPerBatch = 20

// batch is the next batch of the producer's numbered records; producerID < 0 for
// one that is not idempotent.
func (p *rawProducer) batch(producerID int64) record.Batch {
	w := record.NewBuilder(record.None, record.DefaultLevel)
	if producerID >= 0 {
		w.Producer(producerID, 0, int32(p.next))
	}
	for range recordsPerBatch {
		w.Append(time.Now().UnixMilli(), nil, fmt.Appendf(nil, "%s %d %s", p.name, p.next, strings.Repeat("x", 1000)), nil)
		p.next++
	}
	return w.Build()
}

// request is a Produce of the next version, acks all, for partition 0.
func (p *rawProducer) request(batch []byte) (frame []byte, version int16) {
	req := kmsg.NewPtrProduceRequest()
	req.Version = 3 + int16(p.sent)%9
	req.Acks, req.TimeoutMillis = -1, 30_000
	part := kmsg.NewProduceRequestTopicPartition()
	part.Records = batch
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic, topic.Partitions = "t", []kmsg.ProduceRequestTopicPartition{part}
	req.Topics = []kmsg.ProduceRequestTopic{topic}
	p.sent++
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID(p.name)).AppendRequest(nil, req, p.sent), req.Version
}

// answer reads one response.
func (p *rawProducer) answer(version int16) (kmsg.ProduceResponseTopicPartition, error) {
	var head [4]byte
	if _, err := io.ReadFull(p.r, head[:]); err != nil {
		return kmsg.ProduceResponseTopicPartition{}, err
	}
	body := make([]byte, binary.BigEndian.Uint32(head[:]))
	if _, err := io.ReadFull(p.r, body); err != nil {
		return kmsg.ProduceResponseTopicPartition{}, err
	}
	resp := kmsg.NewPtrProduceResponse()
	if resp.SetVersion(version); resp.IsFlexible() {
		body = body[1:]
	}
	if err := resp.ReadFrom(body[4:]); err != nil {
		return kmsg.ProduceResponseTopicPartition{}, err
	}
	return resp.Topics[0].Partitions[0], nil
}

// exchange sends batches at once, sliceBytes a write, and wants the codes in the
// answers; it returns the base offsets.
func (p *rawProducer) exchange(batches []record.Batch, codes []int16, sliceBytes int) (offsets []int64) {
	var data []byte
	var versions []int16
	for _, b := range batches {
		frame, version := p.request(b)
		data, versions = append(data, frame...), append(versions, version)
	}
	for len(data) > 0 {
		n := min(sliceBytes, len(data))
		if _, err := p.conn.Write(data[:n]); err != nil {
			p.t.Errorf("%s: %v", p.name, err)
			return nil
		}
		data = data[n:]
	}
	for i, version := range versions {
		got, err := p.answer(version)
		if err != nil || got.ErrorCode != codes[i] {
			p.t.Errorf("%s, batch %d: code %v, error %v, want code %v", p.name, i, kerr.ErrorForCode(got.ErrorCode), err, kerr.ErrorForCode(codes[i]))
			return nil
		}
		offsets = append(offsets, got.BaseOffset)
	}
	return offsets
}

const corruptMessage = 2

// TestReceivedInPlaceAmongAllSortsOfClients has producers of every temper write to
// one partition of a mapped log with small segments: eager, slow, leaving in the
// middle, sending wrong checksums, retrying. A consumer, which verifies checksums,
// must see each acknowledged record once, in order, and nothing else.
//
// Under storage.flush=group, requests wait for a sync after what they came with is
// gone.
func TestReceivedInPlaceAmongAllSortsOfClients(t *testing.T) {
	for _, flush := range []string{"os", "group"} {
		t.Run(flush, func(t *testing.T) {
			b := start(t, settings(t.TempDir(), "storage.append.engine", "mapped", "log.segment.bytes", "1048576", "storage.flush", flush))
			amongAllSortsOfClients(t, b)
		})
	}
}

func amongAllSortsOfClients(t *testing.T, b *Broker) {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr().String()), kgo.AllowAutoTopicCreation(), kgo.MetadataMinAge(100*time.Millisecond), kgo.UnknownTopicRetries(100))
	if err != nil {
		t.Fatal(err)
	}
	if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: []byte("first 0 ")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	client.Close()

	const rounds = 25
	var clients sync.WaitGroup
	run := func(name string, do func(p *rawProducer, round int)) {
		clients.Go(func() {
			p := dialRaw(t, b, name)
			defer func() { _ = p.conn.Close() }() // Everything was answered.
			for round := range rounds {
				do(p, round)
			}
		})
	}
	wanted := map[string]int{"first": 1}
	for _, name := range []string{"eager-1", "eager-2"} {
		wanted[name] = rounds * 4 * recordsPerBatch
		run(name, func(p *rawProducer, _ int) {
			p.exchange([]record.Batch{p.batch(-1), p.batch(-1), p.batch(-1), p.batch(-1)}, make([]int16, 4), 1<<20)
		})
	}
	wanted["slow"] = rounds * recordsPerBatch
	run("slow", func(p *rawProducer, round int) {
		p.exchange([]record.Batch{p.batch(-1)}, make([]int16, 1), 1+round*round*10)
	})
	wanted["damaged"] = rounds * 2 * recordsPerBatch
	run("damaged", func(p *rawProducer, _ int) {
		first, next := p.batch(-1), p.next
		bad := p.batch(-1)
		bad[len(bad)-1] ^= 1
		p.next = next
		p.exchange([]record.Batch{first, bad, p.batch(-1)}, []int16{0, corruptMessage, 0}, 1<<20)
	})
	wanted["retrying"] = rounds * recordsPerBatch
	run("retrying", func(p *rawProducer, _ int) {
		once := p.batch(4711)
		offsets := p.exchange([]record.Batch{once, once, once}, make([]int16, 3), 1<<20)
		if len(offsets) == 3 && (offsets[1] != offsets[0] || offsets[2] != offsets[0]) {
			t.Errorf("one batch three times got the offsets %d", offsets)
		}
	})
	wanted["leaving"] = rounds * recordsPerBatch
	clients.Go(func() {
		number := 0
		for range rounds {
			p := dialRaw(t, b, "leaving")
			p.next = number
			p.exchange([]record.Batch{p.batch(-1)}, make([]int16, 1), 1<<20)
			number = p.next
			frame, _ := p.request(p.batch(-1))
			if _, err := p.conn.Write(frame[:len(frame)-1]); err != nil {
				t.Error(err)
			}
			_ = p.conn.Close() // In the middle of a request, on purpose.
		}
	})
	consumed := make(chan map[string]int)
	go func() { consumed <- consumeNumbered(t, b, wanted) }()
	clients.Wait()
	for name, n := range <-consumed {
		if n != wanted[name] {
			t.Errorf("%d records of %s were consumed, %d were acknowledged", n, name, wanted[name])
		}
	}
	got := b.api.InPlaceBatches().Load()
	t.Logf("%d batches were received in place", got)
	if got < rounds {
		t.Errorf("%d batches were received in place: the test did not test it", got)
	}
}

// consumeNumbered reads until it has as many records of each name as wanted, and
// checks that they are numbered without gap or repetition.
func consumeNumbered(t *testing.T, b *Broker, wanted map[string]int) map[string]int {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr().String()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"t": {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		t.Error(err)
		return nil
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	total, seen := 0, map[string]int{}
	for _, n := range wanted {
		total += n
	}
	for total > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Errorf("consume, %d records to come: %v", total, err)
			return seen
		}
		fetches.EachRecord(func(r *kgo.Record) {
			var name string
			var number int
			if _, err := fmt.Sscanf(string(r.Value), "%s %d", &name, &number); err != nil || number != seen[name] {
				t.Errorf("offset %d has record %d of %q, want number %d", r.Offset, number, name, seen[name])
			}
			seen[name]++
			total--
		})
	}
	return seen
}
