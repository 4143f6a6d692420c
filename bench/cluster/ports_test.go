package cluster

import "testing"

// TestPortsAreGivenOnce: a port that was found is not found again, although nobody
// listens on it yet. Among 2,000 of 22,768 some 88 would be.
func TestPortsAreGivenOnce(t *testing.T) {
	seen := map[int]bool{}
	for range 500 {
		ports, err := freePorts(4)
		if err != nil {
			t.Fatal(err)
		}
		for _, port := range ports {
			if seen[port] {
				t.Fatalf("port %d was found twice", port)
			}
			seen[port] = true
		}
	}
}
