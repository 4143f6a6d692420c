package calibrate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.uber.org/goleak"

	"tidemark/bench/result"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestEveryLimitIsTakenAndCleanedUp checks orders of magnitude only where they
// are ratios within one run.
func TestEveryLimitIsTakenAndCleanedUp(t *testing.T) {
	dir := t.TempDir()
	c, err := Run(t.Context(), Options{Dir: dir, Samples: 1, Each: 2 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, l := range c.Limits {
		if seen[l.ID] {
			t.Errorf("%s is listed twice", l.ID)
		}
		seen[l.ID] = true
		if l.Unavailable != "" {
			t.Logf("%s: %s", l.ID, l.Unavailable)
			continue
		}
		if l.Value <= 0 && l.Unit != result.UnitNs || l.Low > l.Value || l.High < l.Value {
			t.Errorf("%s: %+v", l.ID, l)
		}
	}
	for _, id := range []string{result.LimitWrite64K, result.LimitLoopback1M, result.LimitMemcpy, result.LimitPingPaced, result.LimitZstdDecompress, result.LimitGroup64} {
		if _, ok := c.Get(id); !ok {
			t.Errorf("%s was not taken", id)
		}
	}
	checkSchema(t, c)
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// checkSchema validates the record as it is written.
func checkSchema(t *testing.T, c *result.Calib) {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile("../../schema/calib-v1.json")
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		t.Error(err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, Options{Dir: t.TempDir()}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}
