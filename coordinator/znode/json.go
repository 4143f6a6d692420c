package znode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// object is a JSON object being taken apart: each take removes a key, and what
// is left at the end is unknown to this version and kept for the rewrite.
type object map[string]rawJSON

func parseObject(data []byte) (object, error) {
	var o object
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, err
	}
	if o == nil {
		return nil, errors.New("want a JSON object, got null")
	}
	return o, nil
}

// take decodes the value of key into v and removes the key; an absent or null
// value leaves v alone and is an error only if required.
func (o object) take(key string, v any, required bool) error {
	raw, ok := o[key]
	delete(o, key)
	if !ok || bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		if required {
			return fmt.Errorf("key %q is missing", key)
		}
		return nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("key %q: %w", key, err)
	}
	return nil
}

// rest returns the keys that nobody took, nil for none.
func (o object) rest() map[string]rawJSON {
	if len(o) == 0 {
		return nil
	}
	return o
}

// field is one key of an object in Kafka's order.
type field struct {
	key   string
	value any
}

// encodeObject writes one line: the fields in order, then unknown keys by name.
func encodeObject(fields []field, unknown map[string]rawJSON) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for _, f := range fields {
		writeField(&b, f.key, mustMarshal(f.value))
	}
	for _, key := range slices.Sorted(maps.Keys(unknown)) {
		writeField(&b, key, mustMarshal(unknown[key]))
	}
	b.WriteByte('}')
	return b.Bytes()
}

func writeField(b *bytes.Buffer, key string, value []byte) {
	if b.Len() > 1 {
		b.WriteByte(',')
	}
	b.Write(mustMarshal(key))
	b.WriteByte(':')
	b.Write(value)
}

// mustMarshal encodes strings, numbers, maps and slices of them and JSON that
// was parsed before: none can fail.
func mustMarshal(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// replicaMap is the form {"0":[1,2]} of partitions and their replicas.
func encodeReplicas(m map[int32][]BrokerID) map[string][]BrokerID {
	out := make(map[string][]BrokerID, len(m))
	for p, replicas := range m {
		if replicas == nil {
			replicas = []BrokerID{}
		}
		out[formatID(p)] = replicas
	}
	return out
}

func decodeReplicas(m map[string][]BrokerID) (map[int32][]BrokerID, error) {
	out := make(map[int32][]BrokerID, len(m))
	for key, replicas := range m {
		p, err := parseID(key)
		if err != nil {
			return nil, fmt.Errorf("partition %q: %w", key, err)
		}
		if err := checkReplicas(replicas); err != nil {
			return nil, fmt.Errorf("partition %d: %w", p, err)
		}
		out[p] = replicas
	}
	return out, nil
}

func checkReplicas(replicas []BrokerID) error {
	for i, r := range replicas {
		if r < 0 {
			return fmt.Errorf("replica %d is negative", r)
		}
		if slices.Contains(replicas[:i], r) {
			return fmt.Errorf("replica %d is listed twice", r)
		}
	}
	return nil
}

// parseID reads a broker's or partition's number in its one canonical form, so
// that no two names mean one partition.
func parseID(s string) (int32, error) {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return 0, err
	}
	if n < 0 || formatID(int32(n)) != s {
		return 0, fmt.Errorf("%q is no number from 0 to 2147483647", s)
	}
	return int32(n), nil
}

// Kafka writes times as strings of milliseconds.
func encodeTime(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

func decodeTime(s string) (time.Time, error) {
	ms, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("timestamp %q: %w", s, err)
	}
	return time.UnixMilli(ms), nil
}
