package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tidemark/bench/check"
	"tidemark/bench/result"
	"tidemark/bench/target"
	"tidemark/bench/trial"
)

// often is few, or many where the longer proofs are asked for.
func often(few, many int) int {
	if os.Getenv("TIDEMARK_FULL") == "1" {
		return many
	}
	return few
}

// storageCells is every flush policy with every append engine: nine topics.
func storageCells() []trial.Cell {
	var out []trial.Cell
	for _, flush := range []string{"os", "batch", "group"} {
		for _, engine := range []string{"buffered", "mapped", "direct"} {
			name := flush + "/" + engine
			out = append(out, trial.Cell{ID: name, Label: name, Topic: map[string]string{
				"storage.flush": flush, "storage.append.engine": engine, "segment.bytes": "262144"}})
		}
	}
	return out
}

func openRig(t *testing.T, o trial.Options) *trial.Rig {
	t.Helper()
	r, err := trial.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// loadKillRestart is one round: load, a kill in the midst of it, a restart.
func loadKillRestart(t *testing.T, r *trial.Rig, phase time.Duration, acks string) {
	t.Helper()
	if _, err := r.LoadAndKill(t.Context(), phase, acks); err != nil {
		t.Fatal(err)
	}
	if err := r.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestChaosCheckerIsNotBlind proves first of all that the checks below can fail:
// a reader that is not served one acknowledged record, and a log whose last bytes
// are gone, must both be flagged as losses of just that.
func TestChaosCheckerIsNotBlind(t *testing.T) {
	o := trial.Options{Executable: binary, Dir: t.TempDir(), Cells: storageCells()[:1], Fault: result.ProcessKill, Seed: 1, RecordBytes: 200, PerSecond: 2000}
	r := openRig(t, o)
	loadKillRestart(t, r, 500*time.Millisecond, "1")
	verify := func(what string, reports []check.Report, err error) check.Report {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if got := reports[0]; got.Wrong() != 0 || got.Read < 50 {
			t.Errorf("%s: %v", what, got)
		}
		return reports[0]
	}
	reports, err := r.Verify(t.Context())
	whole := verify("undamaged", reports, err)
	if whole.Lost != 0 {
		t.Errorf("undamaged: %v, want nothing lost", whole)
	}
	reports, err = r.VerifyWithout(t.Context(), 0, 17)
	if got := verify("one record not served", reports, err); got.Lost != 1 || got.LostSpans[0].Count != 1 {
		t.Errorf("one record not served: %v, want 1 lost", got)
	}

	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	segment := filepath.Join(target.DataDir(o.Dir), "cell-0-0", "00000000000000000000.log")
	info, err := os.Stat(segment)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(segment, info.Size()-1); err != nil {
		t.Fatal(err)
	}
	if err := r.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	reports, err = r.Verify(t.Context())
	if got := verify("the last byte gone", reports, err); got.Read+got.Lost+(whole.Unanswered-got.Unanswered) != whole.Read || got.Read == whole.Read {
		t.Errorf("the last byte gone: %v, want the last batch of %v lost", got, whole)
	}
}

// TestChaosKillLosesNothing kills a broker again and again under load, on the same
// files ten times over: whatever was acknowledged must be served after the restart
// at the offset that the answer named, whole and once, and the files must be sound.
// The page cache outlives a process, so that this holds under every flush policy.
func TestChaosKillLosesNothing(t *testing.T) {
	const perRig = 10
	rigs := often(2, 20)
	for i := range rigs {
		seed := uint64(i + 1)
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			cells := storageCells()
			o := trial.Options{Executable: binary, Dir: t.TempDir(), Cells: cells, Fault: result.ProcessKill, Seed: seed, RecordBytes: 300, PerSecond: 5000}
			r := openRig(t, o)
			random := rand.New(rand.NewPCG(seed, 1))
			read := make([]int64, len(cells))
			for range perRig {
				loadKillRestart(t, r, time.Duration(random.IntN(300))*time.Millisecond, []string{"1", "all"}[random.IntN(2)])
				reports, err := r.Verify(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for k, got := range reports {
					if got.Lost+got.Wrong() != 0 || got.Read <= read[k] {
						t.Fatalf("%s: %v, want nothing wrong and more than the %d records before", cells[k].Label, got, read[k])
					}
					read[k] = got.Read
				}
			}
			t.Logf("%d kills, records of the cells: %v", perRig, read)
			requireSoundFiles(t, r, target.DataDir(o.Dir))
		})
	}
}

// requireSoundFiles kills the broker once more, starts another on its files, ends
// that properly, and has every file checked.
func requireSoundFiles(t *testing.T, r *trial.Rig, dir string) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	startBrokerWith(t, nil, dir).Stop(t)
	run(t, "", binary, "log", "dump", "--deep", dir)
}
