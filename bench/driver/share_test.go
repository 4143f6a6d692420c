package driver

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestShare: a worker has partitions of one leader, every partition has one worker,
// and workers go where the work is.
func TestShare(t *testing.T) {
	for _, c := range []struct {
		leaders string
		workers int
		want    [][]int32
	}{
		{"aaaaa", 2, [][]int32{{0, 2, 4}, {1, 3}}},
		{"a", 3, [][]int32{{0}, nil, nil}},
		{"abab", 2, [][]int32{{0, 2}, {1, 3}}},
		{"abaaaa", 3, [][]int32{{0, 3, 5}, {2, 4}, {1}}},
		{"abcabc", 3, [][]int32{{0, 3}, {1, 4}, {2, 5}}},
		{"aabbb", 4, [][]int32{{0}, {1}, {2, 4}, {3}}},
	} {
		got, err := share(strings.Split(c.leaders, ""), c.workers)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s among %d: %v (-want +got):\n%s", c.leaders, c.workers, err, diff)
		}
	}
	if _, err := share([]string{"a", "b", "c"}, 2); err == nil {
		t.Error("two workers have three leaders")
	}
}
