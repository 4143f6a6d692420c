package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// resources is what a broker process holds at one moment.
type resources struct {
	goroutines, descriptors int
	anonymousKiB            int
}

// TestResourcesReturnToBase loads a broker from many connections, then lets go:
// within 30 s its goroutines and descriptors are what they were before, and its
// anonymous memory within a tenth.
func TestResourcesReturnToBase(t *testing.T) {
	metrics := freeAddress(t)
	b := startBroker(t, "metrics.listener="+metrics)
	topics := appendEngines
	for _, engine := range topics {
		// Index entries grow with the data, as they should; here they are not to be seen.
		createTopic(t, b, engine, 4, "storage.append.engine", engine, "storage.read.engine", "sendfile", "index.interval.bytes", "16777216")
	}
	load := func() {
		for range 3 {
			loadAndLeave(t, b, topics)
		}
	}
	load() // opens segments and brings pools and the runtime to the size that this load asks for
	scrape(t, metrics)
	base := settle(t, b, metrics, nil)
	// A leak grows with every round; what the runtime keeps for a while does not.
	var after resources
	for range 3 {
		load()
		after = settle(t, b, metrics, &base)
		t.Logf("base %+v, after load %+v", base, after)
		if after.within(base) {
			return
		}
	}
	t.Errorf("30 s after each of three loads the broker holds %+v, want at most the goroutines and descriptors of the base %+v and a tenth more memory", after, base)
}

// loadAndLeave produces and fetches from 20 clients at once and closes them all.
func loadAndLeave(t *testing.T, b *brokerProcess, topics []string) {
	t.Helper()
	done := make(chan error)
	const clients = 20
	for i := range clients {
		go func() { done <- loadOnce(b, topics[i%len(topics)]) }()
	}
	for range clients {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func loadOnce(b *brokerProcess, topic string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Bootstrap), kgo.DefaultProduceTopic(topic), kgo.ConsumeTopics(topic))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	value := make([]byte, 1000)
	for range 10_000 {
		client.Produce(ctx, &kgo.Record{Value: value}, nil)
	}
	if err := client.Flush(ctx); err != nil {
		return fmt.Errorf("produce to %s: %w", topic, err)
	}
	for read := 0; read < 5_000; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("fetch from %s: %w", topic, err)
		}
		read += fetches.NumRecords()
	}
	return nil
}

// settle polls until the broker holds what want says, or for 30 s. Without a
// want it takes the state after 30 s.
func settle(t *testing.T, b *brokerProcess, metrics string, want *resources) resources {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		// /proc is looked at first and the metrics page only at the end: each
		// look at the page leaves garbage of its own.
		now := held(t, b)
		late := time.Now().After(deadline)
		if late || want != nil && now.within(*want) {
			now.goroutines = number(t, scrape(t, metrics), `(?m)^go_goroutines (\d+)$`)
			if late || now.within(*want) {
				return now
			}
		}
		time.Sleep(500 * time.Millisecond)
	}
}

func (r resources) within(base resources) bool {
	return r.goroutines <= base.goroutines && r.descriptors <= base.descriptors && r.anonymousKiB*10 <= base.anonymousKiB*11
}

// held is what /proc tells; goroutines stay zero.
func held(t *testing.T, b *brokerProcess) resources {
	t.Helper()
	pid := b.cmd.Process.Pid
	descriptors, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	return resources{
		descriptors:  len(descriptors),
		anonymousKiB: number(t, string(status), `RssAnon:\s+(\d+) kB`),
	}
}

func number(t *testing.T, text, pattern string) int {
	t.Helper()
	match := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if match == nil {
		t.Fatalf("no %s in %d bytes", pattern, len(text))
	}
	n, err := strconv.Atoi(match[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// scrape reads the metrics page over a connection of its own, closed at once, and
// uncompressed: the compressor alone would be a third of what the broker holds.
func scrape(t *testing.T, address string) string {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}, Timeout: patience}
	resp, err := client.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var body strings.Builder
	if _, err := io.Copy(&body, resp.Body); err != nil {
		t.Fatal(err)
	}
	return body.String()
}
