package zkserver

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/coordinator/zkserver/jute"
	"tidemark/coordinator/zkserver/tree"
	"tidemark/internal/vfs"
)

const storeDir = "/zk"

func open(t testing.TB, fs vfs.FS) (*store, *tree.Tree) {
	t.Helper()
	s, tr, err := openStore(fs, storeDir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s, tr
}

// image is a tree as bytes, for comparing.
func image(tr *tree.Tree) string {
	var w jute.Writer
	tr.AppendSnapshot(&w)
	return string(w.Bytes())
}

// grow makes n transactions on the tree and returns them.
func grow(tr *tree.Tree, n int, rng *rand.Rand) []tree.Txn {
	var txns []tree.Txn
	for len(txns) < n {
		if len(tr.Sessions()) == 0 || rng.IntN(10) == 0 {
			s := tree.Session{ID: tr.Zxid() + 100, TimeoutMs: 4000, Password: newPassword()}
			txns = append(txns, tr.OpenSession(s, 1))
			continue
		}
		sessions := tr.Sessions()
		session := sessions[rng.IntN(len(sessions))].ID
		op := tree.Op{Kind: tree.OpCreate, Path: fmt.Sprintf("/n%d-", tr.Zxid()), Data: []byte("data"), ACL: []tree.ACL{{Perms: 31, Scheme: "world", ID: "anyone"}}}
		op.Mode.Ephemeral = rng.IntN(2) == 0
		op.Mode.Sequential = rng.IntN(3) == 0
		switch rng.IntN(12) {
		case 0:
			txn, _, _ := tr.CloseSession(session, 2)
			txns = append(txns, txn)
			continue
		case 1:
			names, _, _ := tr.Children("/", nil)
			op = tree.Op{Kind: tree.OpDelete, Path: "/" + names[rng.IntN(len(names))], Version: -1}
		case 2:
			names, _, _ := tr.Children("/", nil)
			op = tree.Op{Kind: tree.OpSetData, Path: "/" + names[rng.IntN(len(names))], Data: nil, Version: -1}
		}
		out := tr.Write(tree.Request{Session: session, TimeMs: 3, Ops: []tree.Op{op}})
		if len(out.Txn.Changes) > 0 {
			txns = append(txns, out.Txn)
		}
	}
	return txns
}

func TestRestartFindsEverything(t *testing.T) {
	fs := vfs.NewMem()
	rng := rand.New(rand.NewPCG(1, 1))
	want := ""
	for round := range 8 {
		s, tr := open(t, fs)
		if round > 0 && image(tr) != want {
			t.Fatalf("round %d: the tree differs from the one before the restart", round)
		}
		for range 3 {
			if err := s.append(grow(tr, 20, rng)); err != nil {
				t.Fatal(err)
			}
			if rng.IntN(3) == 0 {
				if err := s.snapshot(tr); err != nil {
					t.Fatal(err)
				}
			}
		}
		want = image(tr)
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCrashLosesNothingAcknowledged cuts the power after every batch, with all
// unsynced bytes gone, kept or torn, and wants every acknowledged transaction.
func TestCrashLosesNothingAcknowledged(t *testing.T) {
	for seed := range uint64(40) {
		fs := vfs.NewMem()
		rng := rand.New(rand.NewPCG(seed, 2))
		for batch := range 6 {
			s, tr := open(t, fs)
			txns := grow(tr, 1+rng.IntN(30), rng)
			if err := s.append(txns); err != nil {
				t.Fatal(err)
			}
			if rng.IntN(2) == 0 {
				if err := s.snapshot(tr); err != nil {
					t.Fatal(err)
				}
			}
			want := image(tr)
			// Cut while another batch is half written: nobody was told of it.
			half := grow(tr, 1+rng.IntN(5), rng)
			w := jute.NewWriter(nil)
			for _, txn := range half {
				appendRecord(w, txn)
			}
			if s.file != nil {
				if _, err := s.file.WriteAt(w.Bytes()[:rng.IntN(w.Len())], s.position); err != nil {
					t.Fatal(err)
				}
			}
			fs = fs.CrashClone(seed*100 + uint64(batch))
			_, after := openClone(t, fs, seed)
			if after.Zxid() < txns[len(txns)-1].Zxid {
				t.Fatalf("seed %d: zxid %#x after the crash, %#x was acknowledged", seed, after.Zxid(), txns[len(txns)-1].Zxid)
			}
			if after.Zxid() == txns[len(txns)-1].Zxid && image(after) != want {
				t.Fatalf("seed %d: the tree differs after the crash", seed)
			}
		}
	}
}

// openClone opens and closes a crashed file system, so that the next round can.
func openClone(t *testing.T, fs vfs.FS, seed uint64) (*store, *tree.Tree) {
	t.Helper()
	s, tr, err := openStore(fs, storeDir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	return s, tr
}

func TestFailedWriteIsFinal(t *testing.T) {
	broken := errors.New("disk is broken")
	for _, op := range []vfs.Op{vfs.OpSync, vfs.OpWrite, vfs.OpCreate, vfs.OpSyncDir} {
		faulty := vfs.NewFaulty(vfs.NewMem())
		s, tr := open(t, faulty)
		faulty.OnCall(func(o vfs.Op, p string) error {
			if o == op && strings.HasPrefix(path.Base(p), "log.") || o == op && op == vfs.OpSyncDir {
				return broken
			}
			return nil
		})
		txns := grow(tr, 3, rand.New(rand.NewPCG(1, 1)))
		if err := s.append(txns); !errors.Is(err, broken) {
			t.Errorf("%v fails: append says %v", op, err)
		}
		faulty.OnCall(nil)
		if err := s.append(txns); !errors.Is(err, broken) {
			t.Errorf("after a failed %v: append says %v; the outcome on disk is unknown, so it must refuse", op, err)
		}
		if err := s.snapshot(tr); !errors.Is(err, broken) {
			t.Errorf("after a failed %v: snapshot says %v", op, err)
		}
	}
}

func TestOldFilesAreRemoved(t *testing.T) {
	fs := vfs.NewMem()
	s, tr := open(t, fs)
	rng := rand.New(rand.NewPCG(1, 1))
	for range 5 {
		if err := s.append(grow(tr, 10, rng)); err != nil {
			t.Fatal(err)
		}
		if err := s.snapshot(tr); err != nil {
			t.Fatal(err)
		}
	}
	f, err := listFiles(fs, storeDir)
	if err != nil {
		t.Fatal(err)
	}
	want := files{snapshots: []int64{40, 50}, logs: []int64{41}}
	if diff := cmp.Diff(want, f, cmp.AllowUnexported(files{})); diff != "" {
		t.Errorf("files left after five snapshots (-want +got):\n%s", diff)
	}
}

func TestDamagedSnapshotFallsBack(t *testing.T) {
	fs := vfs.NewMem()
	s, tr := open(t, fs)
	rng := rand.New(rand.NewPCG(1, 1))
	for range 3 {
		if err := s.append(grow(tr, 10, rng)); err != nil {
			t.Fatal(err)
		}
		if err := s.snapshot(tr); err != nil {
			t.Fatal(err)
		}
	}
	want := image(tr)
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	flip(t, fs, path.Join(storeDir, snapshotName(30)), 40)
	s, tr = open(t, fs)
	if image(tr) != want {
		t.Error("the tree differs after the newest snapshot was damaged")
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	flip(t, fs, path.Join(storeDir, snapshotName(20)), 40)
	var corrupt *CorruptError
	if _, _, err := openStore(fs, storeDir, slog.New(slog.DiscardHandler)); !errors.As(err, &corrupt) {
		t.Errorf("both snapshots damaged: error %v, want a CorruptError, not an empty tree", err)
	}
}

// TestDamageIsNoTornTail: a hole before the end of the history is reported, never
// skipped.
func TestDamageIsNoTornTail(t *testing.T) {
	fs := vfs.NewMem()
	rng := rand.New(rand.NewPCG(1, 1))
	for range 2 { // two logs: each opening starts one
		s, tr := open(t, fs)
		if err := s.append(grow(tr, 10, rng)); err != nil {
			t.Fatal(err)
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, at := range map[string]int64{logName(1): 200, logName(11): 3} {
		flip(t, fs, path.Join(storeDir, name), at)
		var corrupt *CorruptError
		if _, _, err := openStore(fs, storeDir, slog.New(slog.DiscardHandler)); !errors.As(err, &corrupt) {
			t.Errorf("%s damaged at %d: error %v, want a CorruptError", name, at, err)
		}
		flip(t, fs, path.Join(storeDir, name), at)
	}
	if err := fs.Remove(path.Join(storeDir, logName(1))); err != nil {
		t.Fatal(err)
	}
	var corrupt *CorruptError
	if _, _, err := openStore(fs, storeDir, slog.New(slog.DiscardHandler)); !errors.As(err, &corrupt) {
		t.Errorf("first log missing: error %v, want a CorruptError", err)
	}
}

func flip(t *testing.T, fs vfs.FS, name string, at int64) {
	t.Helper()
	f, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0xff
	if _, err := f.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
}

func TestOneServerPerDirectory(t *testing.T) {
	fs := vfs.NewMem()
	s, _ := open(t, fs)
	if _, _, err := openStore(fs, storeDir, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a second server opened the same directory")
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	open(t, fs)
}

// FuzzRecovery opens a directory whose only log has arbitrary content: it must
// give a tree or an error, and the tree must survive the next opening unchanged.
func FuzzRecovery(f *testing.F) {
	tr := tree.New()
	w := jute.NewWriter(appendLogHeader(nil, 1))
	for _, txn := range grow(tr, 12, rand.New(rand.NewPCG(1, 1))) {
		appendRecord(w, txn)
	}
	f.Add(w.Bytes(), false)
	f.Add(w.Bytes()[:w.Len()-5], false)
	f.Add(w.Bytes()[:10], false)
	f.Add(make([]byte, 100), false)
	f.Add(encodeSnapshot(tr), true)
	f.Add([]byte(snapshotMagic), true)
	f.Fuzz(func(t *testing.T, data []byte, snapshot bool) {
		fs := vfs.NewMem()
		if err := fs.MkdirAll(storeDir); err != nil {
			t.Fatal(err)
		}
		name := logName(1)
		if snapshot {
			name = snapshotName(12)
		}
		if err := vfs.WriteFileAtomic(fs, path.Join(storeDir, name), data); err != nil {
			t.Fatal(err)
		}
		s, first, err := openStore(fs, storeDir, slog.New(slog.DiscardHandler))
		if err != nil {
			return
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
		_, second := openClone(t, fs, 0)
		if image(first) != image(second) {
			t.Fatal("two openings give different trees")
		}
	})
}
