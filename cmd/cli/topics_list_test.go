package cli

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// TestSizeOf: a partition whose leader does not tell leaves the size of its topic unknown.
func TestSizeOf(t *testing.T) {
	topic := &kadm.TopicDetail{Topic: "t", Partitions: kadm.PartitionDetails{0: {}, 1: {}}}
	at := func(offsets ...int64) kadm.ListedOffsets {
		all := map[int32]kadm.ListedOffset{}
		for p, o := range offsets {
			all[int32(p)] = kadm.ListedOffset{Topic: "t", Partition: int32(p), Offset: o}
		}
		return kadm.ListedOffsets{"t": all}
	}
	leaderless := at(9, 4)
	leaderless["t"][1] = kadm.ListedOffset{Topic: "t", Partition: 1, Offset: -1, Err: kerr.LeaderNotAvailable}
	for _, test := range []struct {
		name         string
		starts, ends kadm.ListedOffsets
		want         int64
	}{
		{"all tell", at(2, 0), at(9, 4), 11},
		{"one is away", at(2), at(9), -1},
		{"one has no leader", at(2, 0), leaderless, -1},
		{"none tells", nil, nil, -1},
	} {
		if got := sizeOf(topic, test.starts, test.ends); got != test.want {
			t.Errorf("%s: %d records, want %d", test.name, got, test.want)
		}
	}
}
