package replicationtest_test

import (
	"testing"

	"tidemark/replication/catalog"
	"tidemark/replication/replicationtest"
)

// TestShippedStrategies holds every strategy of the catalog against the
// contract.
func TestShippedStrategies(t *testing.T) {
	for _, spec := range catalog.Builtin().Specs() {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			if err := replicationtest.Check(spec, soundSeeds); err != nil {
				t.Error(err)
			}
		})
	}
}
