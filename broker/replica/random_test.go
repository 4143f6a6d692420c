package replica

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"tidemark/protocol/record"
)

// ledger is what producers were told: the offset of each record.
type ledger struct {
	mu    sync.Mutex
	acked map[string]int64
}

// TestRandomFaults plays leader moves, cuts, lost sessions, restarts and lost answers
// at random while producers write with acks=all (FAULTSEED=n plays others). In the end all logs are the same
// and hold, at its offset, every record that was acknowledged.
func TestRandomFaults(t *testing.T) {
	from, _ := strconv.ParseUint(os.Getenv("FAULTSEED"), 10, 64) // 0 without one
	rounds := 250
	if raceEnabled || testing.Short() {
		rounds = 60
	}
	for i, strategy := range strategies {
		for name, flush := range map[string][]FlushPolicy{"os": {FlushOS}, "group": {FlushGroup}, "switched": {FlushOS, FlushGroup, FlushBatch}} {
			t.Run(strategy+"/"+name, func(t *testing.T) {
				playFaults(t, strategy, flush, from+uint64(i), rounds)
			})
		}
	}
}

// playFaults plays so many rounds; where there are several policies, storage.flush
// goes from one to another, and crashes are no power cuts.
func playFaults(t *testing.T, strategy string, flush []FlushPolicy, seed uint64, rounds int) {
	c := newThree(t, strategy, func(c *three) { c.cfg.Flush, c.lag = flush[0], 100*time.Millisecond })
	random := rand.New(rand.NewPCG(seed, 1))
	c.led()
	book := ledger{acked: map[string]int64{}}
	done := make(chan struct{})
	var producers sync.WaitGroup
	for who := range 3 {
		producers.Go(func() { book.write(c, who, done) })
	}
	for range rounds {
		c.fault(random, flush)
		time.Sleep(time.Duration(random.IntN(6)) * time.Millisecond)
	}
	c.heal()
	close(done)
	producers.Wait()
	last := c.mustProduce(AckAll, "last")
	c.alike()
	if strategy != "async" {
		book.check(t, c, last)
	}
	t.Logf("%d records acknowledged, %d epochs, %d moves", len(book.acked), c.state.LeaderEpoch, c.moves)
}

// write produces to whoever thinks it leads, zombies too.
func (b *ledger) write(c *three, who int, done chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-done:
			return
		default:
		}
		p := c.on(int32((n/5+who)%3 + 1))
		if lead := c.leader(); lead != nil && n%5 < 4 {
			p = lead
		}
		if p == nil {
			continue
		}
		value := fmt.Sprintf("%d-%d", who, n)
		at, err := produce(p, AckAll, value, 20*time.Millisecond)
		if err != nil {
			time.Sleep(time.Millisecond)
			continue
		}
		b.mu.Lock()
		b.acked[value] = at
		b.mu.Unlock()
	}
}

// fault does one thing at random.
func (c *three) fault(random *rand.Rand, flush []FlushPolicy) {
	id, other := int32(random.IntN(3)+1), int32(random.IntN(3)+1)
	c.mu.Lock()
	leader := c.state.Leader
	down := 0
	for i := 1; i <= 3; i++ {
		if n := c.nodes[i]; !n.up || !n.live {
			down++
		}
	}
	up, live := c.nodes[id].up, c.nodes[id].live
	c.mu.Unlock()
	switch random.IntN(12) {
	case 0, 1, 2:
		c.move(id)
	case 3:
		c.mu.Lock()
		c.cut[id][other] = id != other
		c.mu.Unlock()
	case 4, 5:
		c.mu.Lock()
		c.cut = [4][4]bool{}
		c.delay = time.Duration(random.IntN(3)) * time.Millisecond
		c.mu.Unlock()
	case 6:
		if random.IntN(2) == 0 && leader > 0 {
			id, live = leader, true
		}
		if live && down == 0 {
			c.expire(id)
		}
	case 7:
		c.reappear(id)
	case 8, 10:
		switch {
		case up && down == 0 && random.IntN(3) == 0:
			c.stop(id)
		case up && down == 0:
			c.crash(id, len(flush) == 1 && flush[0] != FlushOS, random.Uint64())
		case !up:
			c.start(id)
		}
	case 11:
		c.switchFlush(flush[random.IntN(len(flush))])
	case 9:
		c.mu.Lock()
		c.loseOutcomes = random.IntN(2) == 0
		c.mu.Unlock()
	}
}

// heal ends all faults.
func (c *three) heal() {
	c.mu.Lock()
	c.cut, c.delay, c.loseOutcomes = [4][4]bool{}, 0, false
	c.mu.Unlock()
	for id := int32(1); id <= 3; id++ {
		c.mu.Lock()
		up := c.nodes[id].up
		c.mu.Unlock()
		if !up {
			c.start(id)
		} else {
			c.reappear(id)
		}
	}
}

// check looks every acknowledged record up.
func (b *ledger) check(t *testing.T, c *three, last int64) {
	t.Helper()
	values := valuesOf(t, content(t, c.on(1)))
	if values[last] != "last" {
		t.Errorf("the last record is not at %d", last)
	}
	lost := 0
	for value, at := range b.acked {
		if values[at] != value {
			if lost++; lost < 5 {
				t.Errorf("%s was acknowledged at %d, where %q is", value, at, values[at])
			}
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d acknowledged records are lost", lost, len(b.acked))
	}
	if len(b.acked) == 0 {
		t.Error("nothing was acknowledged: the run shows nothing")
	}
}

// valuesOf are the values of a log's records by offset.
func valuesOf(t *testing.T, log []byte) map[int64]string {
	t.Helper()
	out := map[int64]string{}
	for len(log) > 0 {
		b, rest, err := record.Parse(log)
		if err != nil {
			t.Fatal(err)
		}
		log = rest
		records, err := b.Records(record.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for rec := (record.Record{}); records.Next(&rec); {
			out[b.BaseOffset()+int64(rec.OffsetDelta)] = string(rec.Value)
		}
		records.Close()
	}
	return out
}
