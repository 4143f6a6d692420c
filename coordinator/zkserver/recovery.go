package zkserver

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tidemark/coordinator/zkserver/jute"
	"tidemark/coordinator/zkserver/tree"
	"tidemark/internal/vfs"
)

// CorruptError means that a file of the server holds something that no crash can
// have left there. Nothing was changed.
type CorruptError struct {
	Path     string
	Position int64
	Err      error
}

// Error names the file, the byte and the reason.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s is damaged at byte %d: %v", e.Path, e.Position, e.Err)
}

// Unwrap returns the reason.
func (e *CorruptError) Unwrap() error { return e.Err }

// files are the zxids in the names of a directory, in order.
type files struct{ snapshots, logs []int64 }

func logName(zxid int64) string      { return fmt.Sprintf("log.%x", zxid) }
func snapshotName(zxid int64) string { return fmt.Sprintf("snapshot.%x", zxid) }

func listFiles(fs vfs.FS, dir string) (files, error) {
	var f files
	entries, err := fs.ReadDir(dir)
	if err != nil {
		return f, fmt.Errorf("list %s: %w", dir, err)
	}
	for _, e := range entries {
		kind, digits, _ := strings.Cut(e.Name(), ".")
		zxid, err := strconv.ParseInt(digits, 16, 64)
		switch {
		case err != nil || zxid < 0:
		case e.Name() == logName(zxid):
			f.logs = append(f.logs, zxid)
		case kind == "snapshot" && e.Name() == snapshotName(zxid):
			f.snapshots = append(f.snapshots, zxid)
		}
	}
	slices.Sort(f.logs)
	slices.Sort(f.snapshots)
	return f, nil
}

// openStore locks dir, rebuilds the tree from the newest good snapshot and the
// logs after it, and drops the torn end that a crash may have left.
func openStore(fs vfs.FS, dir string, log *slog.Logger) (*store, *tree.Tree, error) {
	if err := makeDir(fs, dir); err != nil {
		return nil, nil, fmt.Errorf("create %s: %w", dir, err)
	}
	lock, err := fs.Lock(filepath.Join(dir, ".lock"))
	if err != nil {
		return nil, nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	s := &store{fs: fs, dir: dir, log: log, lock: lock}
	t, err := s.recover()
	if err != nil {
		return nil, nil, errors.Join(err, lock.Close())
	}
	return s, t, nil
}

// makeDir creates dir and what is missing above it, and makes their names
// durable: a log is no safer than the way to it.
func makeDir(fs vfs.FS, dir string) error {
	var missing []string
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := fs.Stat(d); err == nil || d == filepath.Dir(d) {
			break
		}
		missing = append(missing, d)
	}
	if err := fs.MkdirAll(dir); err != nil {
		return err
	}
	for _, d := range slices.Backward(missing) {
		if err := fs.SyncDir(filepath.Dir(d)); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) recover() (*tree.Tree, error) {
	f, err := listFiles(s.fs, s.dir)
	if err != nil {
		return nil, err
	}
	t, err := s.loadSnapshot(f)
	if err != nil {
		return nil, err
	}
	// The log that holds the transaction after the snapshot is the last that
	// starts no later.
	first := 0
	for i, z := range f.logs {
		if z <= t.Zxid()+1 {
			first = i
		}
	}
	for i, z := range f.logs {
		if i < first {
			continue
		}
		if err := s.loadLog(t, filepath.Join(s.dir, logName(z)), z, i == len(f.logs)-1); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// loadSnapshot reads the newest snapshot that is whole. Without any the logs
// must go back to the first transaction, which loadLog sees to.
func (s *store) loadSnapshot(f files) (*tree.Tree, error) {
	for _, z := range slices.Backward(f.snapshots) {
		path := filepath.Join(s.dir, snapshotName(z))
		data, err := vfs.ReadFile(s.fs, path)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		t, err := decodeSnapshot(data)
		if err == nil && t.Zxid() == z {
			s.snapshotBytes = int64(len(data))
			return t, nil
		}
		s.log.Error("snapshot is damaged, trying the one before", "path", path, "error", err)
	}
	return tree.New(), nil
}

// loadLog replays what the tree does not have yet. Only the last log may end in
// a torn record, which is cut off; it was never acknowledged.
func (s *store) loadLog(t *tree.Tree, path string, first int64, last bool) error {
	data, err := vfs.ReadFile(s.fs, path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	txns, end, torn := scanLog(data, first)
	if torn != nil && (!last || end < 0) {
		return &CorruptError{path, max(end, 0), torn}
	}
	for _, txn := range txns {
		if txn.Zxid <= t.Zxid() {
			continue
		}
		if err := t.Replay(txn); err != nil {
			return &CorruptError{path, end, err}
		}
		s.sinceSnapshot++
	}
	s.logBytes += end
	if len(txns) == 0 {
		if err := s.fs.Remove(path); err != nil {
			return fmt.Errorf("remove empty log %s: %w", path, err)
		}
		return s.fs.SyncDir(s.dir)
	}
	if torn != nil {
		s.log.Warn("cutting off the torn end of the transaction log",
			"path", path, "bytes", int64(len(data))-end, "reason", torn)
		return truncate(s.fs, path, end)
	}
	return nil
}

func truncate(fs vfs.FS, path string, size int64) error {
	f, err := fs.Open(path)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	if err = f.Truncate(size); err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("truncate %s: %w", path, err)
	}
	return nil
}

// scanLog reads the transactions of a log up to end, where the first record that
// is not whole begins; torn says what is wrong there. A header that is wrong but
// not blank cannot be the work of a crash: end is −1.
func scanLog(data []byte, first int64) (txns []tree.Txn, end int64, torn error) {
	if len(data) < logHeaderSize || isBlank(data[:logHeaderSize]) {
		return nil, 0, errors.New("no header")
	}
	if string(data[:logHeaderSize]) != string(appendLogHeader(nil, first)) {
		return nil, -1, errors.New("header of another version or file")
	}
	end = logHeaderSize
	for rest := data[end:]; len(rest) > 0; rest = data[end:] {
		txn, size, err := readRecord(rest)
		if err != nil {
			return txns, end, err
		}
		if want := first + int64(len(txns)); txn.Zxid != want {
			return txns, end, fmt.Errorf("transaction %#x where %#x was due", txn.Zxid, want)
		}
		txns = append(txns, txn)
		end += size
	}
	return txns, end, nil
}

func readRecord(data []byte) (txn tree.Txn, size int64, err error) {
	if len(data) < recordHeaderSize {
		return txn, 0, errors.New("record header is cut short")
	}
	length := int64(binary.BigEndian.Uint32(data))
	if length == 0 || length > maxRecordSize || length > int64(len(data)-recordHeaderSize) {
		return txn, 0, fmt.Errorf("record of %d bytes where %d are left", length, len(data)-recordHeaderSize)
	}
	payload := data[recordHeaderSize : recordHeaderSize+length]
	if crc := binary.BigEndian.Uint32(data[4:]); crc != crc32.Checksum(payload, castagnoli) {
		return txn, 0, errors.New("checksum differs")
	}
	r := jute.NewReader(payload)
	txn, err = tree.ReadTxn(r)
	if err == nil && r.Len() > 0 {
		err = fmt.Errorf("%d bytes after the transaction", r.Len())
	}
	return txn, recordHeaderSize + length, err
}

func isBlank(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
