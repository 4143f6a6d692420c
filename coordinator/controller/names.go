package controller

import (
	"fmt"
	"strings"
)

// maxTopicName is Kafka's limit: a partition's folder, name and number, must fit
// in 255 bytes.
const maxTopicName = 249

// ValidateTopicName applies Kafka's rule (Topic.java): 1 to 249 characters of
// a–z, A–Z, 0–9, '.', '_' and '-', neither "." nor "..". The error wraps
// ErrInvalidTopic.
func ValidateTopicName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: it is empty", ErrInvalidTopic)
	case name == "." || name == "..":
		return fmt.Errorf("%w: it is %q", ErrInvalidTopic, name)
	case len(name) > maxTopicName:
		return fmt.Errorf("%w: it is %d characters long, %d are allowed", ErrInvalidTopic, len(name), maxTopicName)
	}
	for _, c := range name {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-') {
			return fmt.Errorf("%w: %q has characters other than a-z, A-Z, 0-9, '.', '_' and '-'", ErrInvalidTopic, name)
		}
	}
	return nil
}

// collisionKey is equal for names that would share a metric in Kafka, which
// writes '.' as '_' there (Topic.hasCollision).
func collisionKey(name string) string { return strings.ReplaceAll(name, ".", "_") }
