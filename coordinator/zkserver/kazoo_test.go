package zkserver

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// kazooPython has the kazoo package; kazooHint makes it.
const (
	kazooPython = "../../.cache/venv-kazoo/bin/python"
	kazooHint   = "kazoo is not installed; to install it: scripts/python-venv.sh kazoo kazoo==2.10.0"
)

// TestKazoo runs the basic recipes of the Python client against both servers.
func TestKazoo(t *testing.T) {
	if testing.Short() {
		t.Skip("another process; not with -short")
	}
	if _, err := os.Stat(kazooPython); err != nil {
		t.Skip(kazooHint)
	}
	eachServer(t, func(t *testing.T, addr string) {
		defer clearNodes(t, addr)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		out, err := exec.CommandContext(ctx, kazooPython, filepath.Join("testdata", "kazoo_recipes.py"), addr).CombinedOutput()
		if err != nil || !strings.HasSuffix(string(out), "done\n") {
			t.Errorf("kazoo: %v\n%s", err, out)
		}
	})
}
