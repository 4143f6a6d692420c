//go:build !race

package enginetest_test

const raceEnabled = false
