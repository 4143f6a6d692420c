package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
)

// partial says whether an error leaves what other brokers answered.
func partial(err error) bool {
	var shards *kadm.ShardErrors
	return errors.As(err, &shards) && !shards.AllFailed
}

// unanswered says of a partial error which brokers it is of. Metadata names a broker that
// was killed until its session with the metadata store ends.
func unanswered(err error) error {
	var shards *kadm.ShardErrors
	if !errors.As(err, &shards) || len(shards.Errs) == 0 {
		return err
	}
	var brokers []int32
	for _, e := range shards.Errs {
		if e.Broker.NodeID >= 0 && !slices.Contains(brokers, e.Broker.NodeID) {
			brokers = append(brokers, e.Broker.NodeID)
		}
	}
	if len(brokers) == 0 {
		return err
	}
	slices.Sort(brokers)
	return fmt.Errorf("above is what the others know; no answer of broker %v (where it was killed, others take over within seconds: ask again): %w",
		brokers, shards.Errs[0].Err)
}
