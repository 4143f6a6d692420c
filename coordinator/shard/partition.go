package shard

import "unicode/utf16"

// PartitionFor is the partition of the internal topic that coordinates a group or
// a transactional id: the absolute value of Java's hash of the string, modulo the
// number of partitions (Kafka's Utils.abs: the smallest integer has none and
// counts as 0).
func PartitionFor(id string, partitions int32) int32 {
	hash := javaHash(id)
	if hash < 0 {
		hash = -hash
	}
	return max(hash, 0) % partitions
}

// javaHash is String.hashCode: over UTF-16 units, wrapping around.
func javaHash(s string) int32 {
	var hash int32
	for _, r := range s {
		if r1, r2 := utf16.EncodeRune(r); r > 0xffff {
			hash = hash*31 + r1
			r = r2
		}
		hash = hash*31 + r
	}
	return hash
}
