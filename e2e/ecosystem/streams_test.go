//go:build ecosystem

package ecosystem

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// tally is how often each word was counted: the application writes every change of a
// count, so what is next for a word is one more than what was last.
type tally struct {
	counts  map[string]int
	changes int
	wrong   []string
}

func (y *tally) add(word, count string) {
	y.changes++
	y.counts[word]++
	if got, err := strconv.Atoi(count); err != nil || got != y.counts[word] {
		y.wrong = append(y.wrong, fmt.Sprintf("change %d of %q is %q", y.counts[word], word, count))
	}
}

// read goes on until there were so many changes in all.
func (y *tally) read(t *testing.T, reader *kgo.Client, a *app, changes int) {
	t.Helper()
	for deadline := time.Now().Add(patience); y.changes < changes; {
		if time.Now().After(deadline) {
			t.Fatalf("after %v there are %d of %d changes of counts", patience, y.changes, changes)
		}
		a.requireRuns(t)
		y.poll(t, reader, time.Second)
	}
}

func (y *tally) poll(t *testing.T, reader *kgo.Client, wait time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	reader.PollFetches(ctx).EachRecord(func(r *kgo.Record) { y.add(string(r.Key), string(r.Value)) })
}

// lines are so many lines of words, some of which are much more frequent than others,
// and add up how often each occurs.
func lines(rng *rand.Rand, n int, counts map[string]int) (records []*kgo.Record, words int) {
	zipf := rand.NewZipf(rng, 1.2, 2, 400)
	for range n {
		line := make([]string, 1+rng.IntN(4))
		for i := range line {
			line[i] = fmt.Sprint("word-", zipf.Uint64())
			counts[line[i]]++
		}
		words += len(line)
		records = append(records, &kgo.Record{Topic: "lines", Value: []byte(strings.Join(line, " "))})
	}
	return records, words
}

// TestStreamsWordCount counts the words of 20,000 lines with Kafka Streams under
// exactly_once_v2. Three times the application is killed in the midst of it, and once a
// broker of three, which leads a third of everything. Each word's counts read 1, 2, 3
// and on, to as many as there are.
func TestStreamsWordCount(t *testing.T) {
	const rounds, perRound = 5, 4000
	c := startCluster(t, 3, "min.insync.replicas=2")
	bootstrap := state(t, c).Bootstrap()
	createTopics(t, bootstrap, 3, "lines", "counts")
	start := func() *app { return startApp(t, "tidemark.WordCount", bootstrap, "lines", "counts", t.TempDir()) }
	producer, reader := newClient(t, bootstrap), newReader(t, bootstrap, "counts")

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	want, total := map[string]int{}, 0
	y := &tally{counts: map[string]int{}}
	a := start()
	for round := range rounds {
		records, words := lines(rng, perRound, want)
		if err := producer.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		y.read(t, reader, a, total+rng.IntN(words/2)+1)
		total += words
		switch round {
		case 0, 2, 3:
			a.Kill()
			t.Logf("killed the application at %d of %d changes", y.changes, total)
			a = start()
		case 1:
			broker := int32(1 + rng.IntN(3))
			if err := c.Kill(broker); err != nil {
				t.Fatal(err)
			}
			t.Logf("killed broker %d at %d of %d changes", broker, y.changes, total)
			y.read(t, reader, a, total)
			if err := c.Restart(t.Context(), broker); err != nil {
				t.Fatal(err)
			}
		}
	}
	y.read(t, reader, a, total)
	y.poll(t, reader, 2*time.Second) // what should not come
	requireSameCounts(t, want, y)
}

func requireSameCounts(t *testing.T, want map[string]int, y *tally) {
	t.Helper()
	for word, n := range want {
		if y.counts[word] != n {
			t.Errorf("%q was counted to %d, and occurs %d times", word, y.counts[word], n)
		}
	}
	if len(y.counts) != len(want) {
		t.Errorf("%d words were counted, and there are %d", len(y.counts), len(want))
	}
	if len(y.wrong) > 0 {
		t.Errorf("%d changes are out of turn: %q", len(y.wrong), y.wrong[:min(10, len(y.wrong))])
	}
	t.Logf("%d words, counted %d times in all", len(want), y.changes)
}
