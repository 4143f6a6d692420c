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
	c, err := Run(t.Context(), Options{Dir: dir, Samples: 1, Each: 20 * time.Millisecond})
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

// TestLimitIsTheMedianOfTheBestWay: the ways take turns, so that the samples of the
// two are {9, 5, 6} and {1, 30, 2}, and the best single sample is not the limit.
func TestLimitIsTheMedianOfTheBestWay(t *testing.T) {
	for unit, want := range map[string]result.Limit{
		result.UnitBytesPerS: {Value: 6, P99: 60, Low: 5, High: 9, Samples: 3},
		result.UnitNs:        {Value: 2, P99: 20, Low: 1, High: 30, Samples: 3},
	} {
		i := 0
		l := limit{"l", "", unit, func(string, time.Duration) (sampler, error) {
			return sampler{rounds: 2, sample: func() (float64, float64, error) {
				i++
				v := []float64{9, 1, 5, 30, 6, 2}[i-1]
				return v, 10 * v, nil
			}}, nil
		}}
		want.ID, want.Unit = "l", unit
		if got := measure(l, t.TempDir(), Options{Samples: 3}); got != want {
			t.Errorf("%s: got %+v, want %+v", unit, got, want)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, Options{Dir: t.TempDir()}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}
