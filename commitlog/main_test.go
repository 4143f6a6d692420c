package commitlog

import (
	"flag"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// A failure prints its seed; files beside the sources would only be litter.
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// scale is how much of a long proof runs: the whole of it with TIDEMARK_FULL=1
// (make test-full), a part by default, and least under the race detector, which costs
// ten times as much and finds nothing in a proof of one goroutine.
func scale(whole, part, raced int) int {
	switch {
	case raceEnabled:
		return raced
	case os.Getenv("TIDEMARK_FULL") == "1":
		return whole
	}
	return part
}
