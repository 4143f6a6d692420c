package group

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"tidemark/internal/planted"
)

// sequence is the random run of a seed: a length, then choices.
func sequence(seed uint64) []byte {
	rnd := rand.New(rand.NewPCG(seed, 5))
	data := make([]byte, 2*(20+rnd.IntN(200)))
	for i := range data {
		data[i] = byte(rnd.Uint32())
	}
	return data
}

// seeds is how many random runs there are: many with TIDEMARK_FULL=1.
func seeds(few uint64) uint64 {
	if os.Getenv("TIDEMARK_FULL") != "" {
		return 100 * few
	}
	return few
}

// TestRandomSequences runs clients that do anything; a failing seed n is repeated by
// -run 'TestRandomSequences/n$'.
func TestRandomSequences(t *testing.T) {
	for seed := range seeds(300) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { drive(t, sequence(seed)) })
	}
}

// FuzzGroup lets the fuzzer choose what clients do.
func FuzzGroup(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(sequence(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 2000 {
			return
		}
		drive(t, data)
	})
}

// TestPlanted proves that the random sequences find each known-bad build.
func TestPlanted(t *testing.T) {
	if !planted.Enabled {
		t.Skip("needs -tags planted")
	}
	for _, flaw := range planted.Groups {
		t.Run(string(flaw), func(t *testing.T) { caught(t, flaw) })
	}
}
