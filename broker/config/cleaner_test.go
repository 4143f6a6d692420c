package config

import (
	"strings"
	"testing"
)

func TestCleanerSettingsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		props map[string]string
		want  string
	}{
		{map[string]string{"log.cleaner.threads": "0"}, "not at least 1"},
		{map[string]string{"log.cleaner.threads": "129"}, "for 129 threads are less than 1048576 a thread"},
		{map[string]string{"log.cleaner.io.buffer.load.factor": "1"}, "not over 0 and under 1"},
		{map[string]string{"log.cleaner.io.max.bytes.per.second": "-5"}, "not at least 1"},
		{map[string]string{"log.cleaner.min.compaction.lag.ms": "9", "log.cleaner.max.compaction.lag.ms": "8"}, "9 is more than max.compaction.lag.ms 8"},
	} {
		if _, err := Parse(c.props); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got error %v, want %q in it", c.props, err, c.want)
		}
	}
	if _, err := Default().Topic(map[string]string{"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "8"}); err == nil {
		t.Error("a topic may not ask for more than max.compaction.lag.ms before its records are compacted")
	}
	b, err := Parse(map[string]string{"log.cleaner.enable": "false", "log.cleaner.threads": "500", "log.cleaner.io.max.bytes.per.second": "1.5E6"})
	if err != nil || b.Cleaner.Enabled || b.Cleaner.BytesPerSecond != 1.5e6 {
		t.Errorf("got %+v, %v: memory that is not used needs no check", b.Cleaner, err)
	}
}
