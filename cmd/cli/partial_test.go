package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

// TestUnanswered: who did not answer is named, each once, and why the first did not.
func TestUnanswered(t *testing.T) {
	refused := errors.New("connection refused")
	of := func(brokers ...int32) error {
		shards := &kadm.ShardErrors{Name: "ListOffsets"}
		for _, id := range brokers {
			shards.Errs = append(shards.Errs, kadm.ShardError{Err: refused, Broker: kadm.BrokerDetail{NodeID: id}})
		}
		return fmt.Errorf("list offsets: %w", shards)
	}
	if err := unanswered(of(3, 1, 3)); !strings.Contains(err.Error(), "no answer of broker [1 3] ") || !errors.Is(err, refused) {
		t.Errorf("said %v", err)
	}
	for _, same := range []error{nil, refused, of(-1)} {
		if got := unanswered(same); got != same {
			t.Errorf("%v became %v", same, got)
		}
	}
}
