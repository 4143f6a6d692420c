package group

import (
	"fmt"
	"regexp"
	"slices"
)

// pattern is a subscription by a regular expression, in the syntax of RE2. It is of a
// topic's whole name, as in Kafka (RE2J's matches).
type pattern struct {
	text string
	re   *regexp.Regexp
}

// newPattern compiles a subscription; "" is none, and nil.
func newPattern(text string) (*pattern, error) {
	if text == "" {
		return nil, nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("%w %q: %w", ErrInvalidRegex, text, err)
	}
	re.Longest() // then a match of the whole is found if there is one
	return &pattern{text, re}, nil
}

// loadedPattern is a pattern of the log. One that does not compile here matches
// nothing, and is kept as it is.
func loadedPattern(text string) *pattern {
	p, err := newPattern(text)
	if err != nil {
		return &pattern{text: text}
	}
	return p
}

// String is the expression; "" for none.
func (p *pattern) String() string {
	if p == nil {
		return ""
	}
	return p.text
}

func (p *pattern) matches(topic string) bool {
	if p == nil || p.re == nil {
		return false
	}
	at := p.re.FindStringIndex(topic)
	return at != nil && at[0] == 0 && at[1] == len(topic)
}

// subscriptions resolves what members read, each pattern once.
type subscriptions struct {
	metadata Metadata
	names    []string
	matched  map[string][]string
}

func newSubscriptions(m Metadata) *subscriptions {
	return &subscriptions{metadata: m, matched: map[string][]string{}}
}

// of are the topics that a member reads by name or pattern; some may not exist, and
// one may be there twice.
func (s *subscriptions) of(m *consumerMember) []string {
	if m.pattern == nil {
		return m.topics
	}
	matched, ok := s.matched[m.pattern.text]
	if !ok {
		if s.names == nil {
			s.names = s.metadata.Names()
		}
		for _, name := range s.names {
			if m.pattern.matches(name) {
				matched = append(matched, name)
			}
		}
		s.matched[m.pattern.text] = matched
	}
	return slices.Concat(m.topics, matched)
}
