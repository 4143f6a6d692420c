package engines_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/engines"
)

func names(c engines.Catalog) (appends, reads []string) {
	for _, s := range c.Appends() {
		appends = append(appends, s.Name+":"+s.Doc)
	}
	for _, s := range c.Reads() {
		reads = append(reads, s.Name+":"+s.Doc)
	}
	return appends, reads
}

func TestCatalogIsAnImmutableList(t *testing.T) {
	one := engines.Catalog{}.
		WithAppend(engines.AppendSpec{Name: "a", Doc: "1"}).
		WithAppend(engines.AppendSpec{Name: "b", Doc: "1"}).
		WithRead(engines.ReadSpec{Name: "r", Doc: "1"})
	two := one.WithAppend(engines.AppendSpec{Name: "a", Doc: "2"}).WithRead(engines.ReadSpec{Name: "s", Doc: "2"})
	one.Appends()[0].Name = "the caller's copy"
	for _, c := range []struct {
		catalog        engines.Catalog
		appends, reads []string
	}{
		{one, []string{"a:1", "b:1"}, []string{"r:1"}},
		{two, []string{"a:2", "b:1"}, []string{"r:1", "s:2"}},
	} {
		appends, reads := names(c.catalog)
		if diff := cmp.Diff([][]string{c.appends, c.reads}, [][]string{appends, reads}); diff != "" {
			t.Errorf("the catalog differs (-want +got):\n%s", diff)
		}
	}
}

func TestCatalogFindsByName(t *testing.T) {
	c := engines.Catalog{}.WithAppend(engines.AppendSpec{Name: "a"}).WithAppend(engines.AppendSpec{Name: "b"}).WithRead(engines.ReadSpec{Name: "r"})
	if s, err := c.Append("b"); err != nil || s.Name != "b" {
		t.Errorf("Append: got %q, %v", s.Name, err)
	}
	if s, err := c.Read("r"); err != nil || s.Name != "r" {
		t.Errorf("Read: got %q, %v", s.Name, err)
	}
	if _, err := c.Append("r"); err == nil || !strings.Contains(err.Error(), "a, b") {
		t.Errorf("an unknown name: got error %v, want one that lists a, b", err)
	}
	c = c.WithAppend(engines.AppendSpec{Name: "mapped"}).WithRead(engines.ReadSpec{Name: "r"})
	for _, wrong := range []string{"maped", "mmap"} {
		if _, err := c.Append(wrong); err == nil || !strings.HasSuffix(err.Error(), `; did you mean "mapped"?`) {
			t.Errorf("%s: got error %v, want one that asks for mapped", wrong, err)
		}
	}
	if _, err := c.Read("mmap"); err == nil || strings.Contains(err.Error(), "mean") {
		t.Errorf("mmap where nothing maps: %v", err)
	}
	if _, err := c.Read("a"); err == nil || !strings.Contains(err.Error(), "there are: r") {
		t.Errorf("an unknown name: got error %v, want one that lists r", err)
	}
}
