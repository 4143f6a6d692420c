package e2e

import (
	"fmt"
	"strings"
	"testing"
)

func TestKcatEveryCodec(t *testing.T) {
	t.Parallel()
	need(t, "kcat", "scripts/need.sh kcat")
	b := startBroker(t)
	const records = 2000
	var input strings.Builder
	for i := range records {
		fmt.Fprintf(&input, "line-%d %0100d\n", i, 0)
	}
	for _, codec := range codecs {
		t.Run(codec, func(t *testing.T) {
			topic := "kcat-" + codec
			createTopic(t, b, topic, 1)
			run(t, input.String(), "kcat", "-P", "-b", b.Bootstrap, "-t", topic, "-z", codec, "-X", "enable.idempotence=true", "-X", "linger.ms=50")
			got := run(t, "", "kcat", "-C", "-b", b.Bootstrap, "-t", topic, "-p", "0", "-o", "beginning", "-e", "-q", "-u")
			if got != input.String() {
				t.Errorf("read %d bytes that differ from the %d sent", len(got), input.Len())
			}
			requireCodecOnTheWire(t, b, topic, codec)
		})
	}
}

// Files under every engine hold one copy of what a client sent, in order.
func TestKcatEveryAppendEngine(t *testing.T) {
	t.Parallel()
	need(t, "kcat", "scripts/need.sh kcat")
	dir := t.TempDir()
	b := startBrokerWith(t, nil, dir)
	var input strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&input, "line-%d %0100d\n", i, 0)
	}
	for _, engine := range appendEngines {
		createTopic(t, b, "kcat-"+engine, 1, "storage.append.engine", engine, "segment.bytes", "1048576")
		run(t, input.String(), "kcat", "-P", "-b", b.Bootstrap, "-t", "kcat-"+engine, "-z", "none")
	}
	readBack := func() {
		for _, engine := range appendEngines {
			got := run(t, "", "kcat", "-C", "-b", b.Bootstrap, "-t", "kcat-"+engine, "-p", "0", "-o", "beginning", "-e", "-q", "-u")
			if got != input.String() {
				t.Errorf("%s: read %d bytes that differ from the %d sent", engine, len(got), input.Len())
			}
		}
	}
	readBack()
	b.Stop(t)
	b = startBrokerWith(t, nil, dir)
	readBack()
}

func TestKcatMetadataAndOffsetQuery(t *testing.T) {
	need(t, "kcat", "scripts/need.sh kcat")
	b := startBroker(t)
	createTopic(t, b, "meta", 3)
	produceStrings(t, b, "meta", 10)
	if got := run(t, "", "kcat", "-L", "-b", b.Bootstrap, "-t", "meta"); !strings.Contains(got, `topic "meta" with 3 partitions`) {
		t.Errorf("kcat -L said:\n%s", got)
	}
	got := run(t, "", "kcat", "-Q", "-b", b.Bootstrap, "-t", "meta:0:-2")
	if !strings.Contains(got, "meta [0] offset 0") {
		t.Errorf("kcat -Q for the earliest offset said:\n%s", got)
	}
}
