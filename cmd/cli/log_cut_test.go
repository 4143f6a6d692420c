package cli

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/commitlog"
	"tidemark/engines/catalog"
	"tidemark/internal/clock"
	"tidemark/internal/vfs/powercut"
	"tidemark/protocol/record"
)

// recordedLog leaves the record of a process that appended three batches of two
// records, synced the first and was killed after it acknowledged all.
func recordedLog(t *testing.T) (recordDir string) {
	t.Helper()
	root, recordDir := t.TempDir(), filepath.Join(t.TempDir(), "record")
	r, err := powercut.Start(powercut.Options{Dir: recordDir, Roots: []string{root}, RootLock: ".lock"})
	if err != nil {
		t.Fatal(err)
	}
	o := commitlog.DefaultOptions()
	builtin := catalog.Builtin()
	var errs [2]error
	o.Append, errs[0] = builtin.Append("mapped")
	o.Read, errs[1] = builtin.Read("pread")
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "orders-0")
	l, err := commitlog.Open(r, dir, o, commitlog.OpenState{CleanShutdown: true}, clock.Real{})
	if err != nil {
		t.Fatal(err)
	}
	cell, err := r.AckCell(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		b := record.NewBuilder(record.None, record.DefaultLevel)
		for range 2 {
			b.Append(1, []byte("k"), []byte("v"), nil)
		}
		info, err := l.AppendAsLeader(b.Build(), 0, commitlog.Client)
		if err != nil {
			t.Fatal(err)
		}
		cell.Store(uint64(info.LastOffset + 1))
		if i == 0 {
			if err := l.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := r.Close(); err != nil { // As a kill does: the log is not closed.
		t.Fatal(err)
	}
	return recordDir
}

func TestLogCut(t *testing.T) {
	record := recordedLog(t)
	cut := func(args ...string) (int, string, string) {
		return runLine(t, append([]string{"log", "cut", record}, args...)...)
	}
	if code, _, errw := cut("--torn", "half"); code != ExitUsage || !strings.Contains(errw, "want sector or page") {
		t.Errorf("--torn half: code %d, %s", code, errw)
	}
	code, out, errw := cut("--seed", "0", "--json")
	var got cutResult
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != ExitOK {
		t.Fatalf("code %d, %v: %s%s", code, err, out, errw)
	}
	if len(got.Debt) != 1 || got.DebtRecords != 4 {
		t.Fatalf("debt %+v, %d records, want 4 of one partition", got.Debt, got.DebtRecords)
	}
	if d := got.Debt[0]; d.Partition != "orders-0" || d.AckedEnd != 6 || d.DurableEnd != 2 || d.DebtRecords != 4 {
		t.Errorf("debt %+v, want 6 acknowledged, 2 durable", d)
	}
	if got.LostBytes == 0 || got.KeptBytes != 0 || len(got.Files) == 0 || got.Files[0].LostBytes != got.LostBytes {
		t.Errorf("seed 0 kept %d and lost %d bytes: %+v", got.KeptBytes, got.LostBytes, got.Files)
	}
	if code, _, errw := cut("--seed", "0"); code != ExitFailed || !strings.Contains(errw, "used by a cut before") {
		t.Errorf("second cut: code %d, %s", code, errw)
	}
}

func TestLogCutTells(t *testing.T) {
	code, out, errout := runLine(t, "log", "cut", recordedLog(t), "--seed", "3")
	if code != ExitOK {
		t.Fatalf("code %d: %s", code, errout)
	}
	for _, want := range []string{"seed 3", "orders-0", "synced bytes", "debt (records)", "durability debt 4 records"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// TestPowercutRecordPlaces: a record that lies where the cut would reach it, or
// that does not exist, is refused with a sentence.
func TestPowercutRecordPlaces(t *testing.T) {
	data := t.TempDir()
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"inside":  {[]string{"broker", "--listen", "127.0.0.1:0", "--set", "log.dirs=" + data, "--powercut-record", filepath.Join(data, "record")}, ExitUsage, "must lie outside of the log directory"},
		"nothing": {[]string{"log", "cut", filepath.Join(data, "none")}, ExitFailed, "no such file"},
	} {
		if code, _, errout := runLine(t, test.args...); code != test.code || !strings.Contains(errout, test.want) {
			t.Errorf("%s: code %d, %s, want code %d and %q", name, code, errout, test.code, test.want)
		}
	}
}
