package shard

import (
	"slices"
	"strconv"
	"testing"
)

// TestSubmitEach: one answer of all replies in order, whatever order they come in.
func TestSubmitEach(t *testing.T) {
	answers := 0
	SubmitEach(0, nil, func(replies []Reply) { answers += 1 + len(replies) })
	if answers != 1 {
		t.Fatalf("nothing to ask: answered %d times, want once, with nothing", answers)
	}
	var waiting []func()
	var got []Token
	SubmitEach(3, func(i int, done func(Reply)) {
		waiting = append(waiting, func() { done(Reply{Token: Token(i)}) })
	}, func(replies []Reply) {
		for _, r := range replies {
			got = append(got, r.Token)
		}
	})
	slices.Reverse(waiting)
	for i, reply := range waiting {
		if got != nil {
			t.Fatalf("answered with %s replies missing", strconv.Itoa(len(waiting)-i))
		}
		reply()
	}
	if want := []Token{0, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("got replies %v, want %v", got, want)
	}
}
