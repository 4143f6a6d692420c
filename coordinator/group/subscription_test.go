package group

import (
	"errors"
	"regexp/syntax"
	"slices"
	"testing"
)

func TestPatternsMatchWholeNames(t *testing.T) {
	for _, c := range []struct {
		pattern, topic string
		want           bool
	}{
		{"orders", "orders", true},
		{"orders", "orders-v2", false},
		{"orders", "reorders", false},
		{"orders.*", "orders-v2", true},
		{"a|ab", "ab", true}, // leftmost-first would stop at a
		{"a+?", "aaa", true},
		{"b|.*", "ab", true},
		{"^(in|out)$", "out", true},
		{`\Qa.b`, "a.b", true}, // a quote need not end
		{`\Qa.b`, "axb", false},
		{"(?i)ORDERS", "orders", true},
		{`\p{Greek}`, "o", false},
		{"", "orders", false},
	} {
		p, err := newPattern(c.pattern)
		if err != nil {
			t.Errorf("%q: %v", c.pattern, err)
		}
		if got := p.matches(c.topic); got != c.want {
			t.Errorf("%q of %s: %v, want %v", c.pattern, c.topic, got, c.want)
		}
	}
}

// TestPatternsThatAreRefused: what RE2 cannot do is refused, with the reason.
func TestPatternsThatAreRefused(t *testing.T) {
	for _, text := range []string{"(", "a)(b", "(?=a)", `(a)\1`, "a{1001}", "[b-a]"} {
		var reason *syntax.Error
		if p, err := newPattern(text); p != nil || !errors.Is(err, ErrInvalidRegex) || !errors.As(err, &reason) {
			t.Errorf("%q: got %v, %v, want ErrInvalidRegex with what is wrong", text, p, err)
		}
	}
}

// TestAPatternOfTheLogThatDoesNotCompile is kept, and matches nothing.
func TestAPatternOfTheLogThatDoesNotCompile(t *testing.T) {
	p := loadedPattern("(")
	if p.String() != "(" || p.matches("(") {
		t.Errorf("got %q, which matches %v, want ( and nothing", p, p.matches("("))
	}
}

// countedTopics counts how often the names are asked for.
type countedTopics struct {
	*topics
	asked int
}

func (c *countedTopics) Names() []string { c.asked++; return c.topics.Names() }

func TestNamesAreLookedAtOnlyForPatterns(t *testing.T) {
	metadata := &countedTopics{topics: newTopics()}
	s := newSubscriptions(metadata)
	byName := &consumerMember{topics: []string{"t"}}
	if got := s.of(byName); !slices.Equal(got, []string{"t"}) || metadata.asked != 0 {
		t.Errorf("by name: got %v and %d looks at the names, want t and none", got, metadata.asked)
	}
	both := &consumerMember{topics: []string{"t"}, pattern: loadedPattern("u.*")}
	for range 3 {
		if got := s.of(both); !slices.Equal(got, []string{"t", "u"}) || metadata.asked != 1 {
			t.Errorf("by both: got %v and %d looks at the names, want t, u and one", got, metadata.asked)
		}
	}
}

// TestMembersOfAPattern: joining needs names or a pattern; a full heartbeat is answered
// in full; an offset of a topic that matches is in use.
func TestMembersOfAPattern(t *testing.T) {
	w := newWorld(quick())
	r := joining848("g", "m")
	text := "t.*"
	r.Topics, r.Regex = nil, &text
	joined, err := beat848(t, w, r)
	if err != nil {
		t.Fatal(err)
	}
	if got := showPartitions(*joined.Assignment); got != "[t0 t1 t2 t3]" {
		t.Errorf("assigned are %s, want those of t", got)
	}
	full := *r
	full.Epoch, full.Owned = joined.Epoch, joined.Assignment
	if again, err := beat848(t, w, &full); err != nil || again.Assignment == nil {
		t.Errorf("a full heartbeat is answered %+v, %v, want an assignment", again, err)
	}
	before := len(w.log)
	bad := "("
	full.Regex = &bad
	if _, err := beat848(t, w, &full); !errors.Is(err, ErrInvalidRegex) || len(w.log) != before {
		t.Errorf("a bad pattern: %v and %d records, want ErrInvalidRegex and none", err, len(w.log)-before)
	}
	if c := w.groups.groups["g"].consumers; !c.reads("t9") || c.reads("u") {
		t.Error("read should be every topic that matches, and no other")
	}
}
