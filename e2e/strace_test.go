package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// The tests below look at the broker from the kernel's side: an engine that
// only claims to differ would pass every test of content.

const traced = 20_000 // records of about 120 bytes

func TestSendfileCarriesFetchedBytes(t *testing.T) {
	trace, fetched := traceWorkload(t, "storage.read.engine", "sendfile")
	sent := sumReturns(trace, regexp.MustCompile(`(?m)sendfile\(.* = (\d+)$`))
	if sent < fetched*95/100 {
		t.Errorf("sendfile(2) carried %d of %d fetched record bytes, want at least 95 %%", sent, fetched)
	}
}

func TestCopyingReaderUsesNoSendfile(t *testing.T) {
	trace, _ := traceWorkload(t, "storage.read.engine", "pread")
	if sent := sumReturns(trace, regexp.MustCompile(`(?m)sendfile\(.* = (\d+)$`)); sent != 0 {
		t.Errorf("the pread engine sent %d bytes by sendfile(2), want none", sent)
	}
}

func TestMappedReaderSendsWithTheResponse(t *testing.T) {
	trace, fetched := traceWorkload(t, "storage.read.engine", "mapped")
	sent := sumReturns(trace, regexp.MustCompile(`(?m)writev\(\d+<(?:socket|TCP)[^>]*>.* = (\d+)$`))
	if sent < fetched*95/100 {
		t.Errorf("writev(2) carried %d bytes to clients, want the %d fetched record bytes among them", sent, fetched)
	}
}

func TestMappedWritesNoRecordBytes(t *testing.T) {
	// Ahead of their use, pages are made present by write(2), of zeros.
	trace, _ := traceWorkload(t, "storage.append.engine", "mapped", "storage.prefault", "false")
	if n := sumReturns(trace, logWrites); n != 0 {
		t.Errorf("the mapped engine wrote %d bytes of segments by write(2), want none", n)
	}
}

func TestBufferedWritesEveryRecordByte(t *testing.T) {
	trace, fetched := traceWorkload(t, "storage.append.engine", "buffered")
	if n := sumReturns(trace, logWrites); n < fetched {
		t.Errorf("the buffered engine wrote %d bytes of segments by write(2), want at least the %d later fetched", n, fetched)
	}
}

// The direct engine writes to segments, whole blocks at bounds of blocks, past
// the page cache.
func TestDirectWritesWholeBlocksPastTheCache(t *testing.T) {
	trace, fetched := traceWorkload(t, "storage.append.engine", "direct")
	if !regexp.MustCompile(`(?m)openat\(.*"/proc/self/fd/\d+".*O_DIRECT.* = \d+<[^>]*\.log>$`).MatchString(trace) {
		t.Error("the direct engine opened no segment with O_DIRECT")
	}
	if n := sumReturns(trace, logWrites); n < fetched {
		t.Errorf("the direct engine wrote %d bytes of segments, want at least the %d later fetched", n, fetched)
	}
	for _, call := range regexp.MustCompile(`(?m)pwrite64\(\d+<[^>]*\.log>, .*, (\d+), (\d+)\) = \d+$`).FindAllStringSubmatch(trace, -1) {
		if !wholePages(call[1]) || !wholePages(call[2]) {
			t.Errorf("a write of other than whole blocks: %s", call[0])
		}
	}
}

func wholePages(number string) bool {
	n, err := strconv.Atoi(number)
	return err == nil && n%4096 == 0
}

// logWrites matches every write family call on a segment file; strace -y shows
// the path behind the descriptor.
var logWrites = regexp.MustCompile(`(?m)(?:pwritev2?|pwrite64|writev|write)\(\d+<[^>]*\.log>.* = (\d+)$`)

// traceWorkload runs a broker under strace, produces and fetches one topic with
// the settings, and returns the trace and the number of record bytes fetched.
func traceWorkload(t *testing.T, settings ...string) (trace string, fetched int) {
	t.Helper()
	need(t, "strace", "scripts/need.sh strace")
	out := filepath.Join(t.TempDir(), "trace")
	strace := []string{"strace", "-f", "-y", "-qq", "-s", "0", "-e", "trace=openat,sendfile,write,writev,pwrite64,pwritev,pwritev2", "-o", out}
	b := startBrokerWith(t, strace, t.TempDir())
	createTopic(t, b, "traced", 1, settings...)
	produceStrings(t, b, "traced", traced, kgo.ProducerBatchCompression(kgo.NoCompression()))
	for _, batch := range rawBatches(t, b, "traced") {
		fetched += batch.Size()
	}
	b.Stop(t)
	bytes, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return joinResumed(string(bytes)), fetched
}

// joinResumed puts the two halves of a call that strace -f interrupted together.
func joinResumed(trace string) string {
	pending := map[string]string{}
	var joined strings.Builder
	for line := range strings.Lines(trace) {
		line = strings.TrimRight(line, "\n")
		pid, call, _ := strings.Cut(line, " ")
		call = strings.TrimSpace(call)
		if head, ok := strings.CutSuffix(call, " <unfinished ...>"); ok {
			pending[pid] = head
			continue
		}
		if strings.HasPrefix(call, "<... ") {
			_, tail, _ := strings.Cut(call, " resumed>")
			call = pending[pid] + tail
		}
		joined.WriteString(call + "\n")
	}
	return joined.String()
}

func sumReturns(trace string, call *regexp.Regexp) int {
	sum := 0
	for _, match := range call.FindAllStringSubmatch(trace, -1) {
		n, err := strconv.Atoi(match[1])
		if err == nil {
			sum += n
		}
	}
	return sum
}
