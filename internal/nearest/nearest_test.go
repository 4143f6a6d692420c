package nearest

import "testing"

func TestName(t *testing.T) {
	candidates := []string{"broker.id", "broker.rack", "listeners"}
	for _, c := range []struct {
		name, want string
		most       int
	}{
		{"broker.di", "broker.id", 1},
		{"Broker.ID", "broker.id", 0},
		{"listners", "listeners", 2},
		{"lstnrs", "", 2},
		{"lstnrs", "listeners", 3},
		{"", "", 2},
	} {
		if got := Name(c.name, candidates, c.most); got != c.want {
			t.Errorf("nearest to %q within %d: got %q, want %q", c.name, c.most, got, c.want)
		}
	}
}

func TestSuggest(t *testing.T) {
	for name, want := range map[string]string{"cliks": `; did you mean "clicks"?`, "orders": ""} {
		if got := Suggest(name, []string{"clicks"}); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestDistance compares the table-driven distance with the plain recursion.
func TestDistance(t *testing.T) {
	words := []string{"", "a", "ab", "ba", "abc", "acb", "kitten", "sitting", "ca", "abcd", "log.dirs", "log.dris"}
	for _, a := range words {
		for _, b := range words {
			if got, want := distance(a, b, 100), plainDistance(a, b); got != want {
				t.Errorf("distance of %q and %q: got %d, want %d", a, b, got, want)
			}
		}
	}
}

func plainDistance(a, b string) int {
	if a == "" || b == "" {
		return len(a) + len(b)
	}
	if a[0] == b[0] {
		return plainDistance(a[1:], b[1:])
	}
	d := 1 + min(plainDistance(a[1:], b), plainDistance(a, b[1:]), plainDistance(a[1:], b[1:]))
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		d = min(d, 1+plainDistance(a[2:], b[2:]))
	}
	return d
}
