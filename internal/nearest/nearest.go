// Package nearest finds the name that somebody meant who wrote another: for
// settings, commands, flags and fields that do not exist.
package nearest

import (
	"fmt"
	"strings"
)

// Name returns the candidate with the smallest edit distance to name, the first
// in order when several are equal, or "" when all are farther than most. The
// case of letters does not count.
func Name(name string, candidates []string, most int) string {
	best, bestDistance := "", most+1
	for _, c := range candidates {
		if d := distance(strings.ToLower(name), strings.ToLower(c), bestDistance); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// Suggest asks at the end of an error whether the candidate nearest to name was
// meant, where one is within a third of its letters; else it is empty.
func Suggest(name string, candidates []string) string {
	if near := Name(name, candidates, len(name)/3); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b; it may stop early with any number ≥ limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
