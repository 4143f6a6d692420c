package zkserver

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"path/filepath"

	"tidemark/coordinator/zkserver/jute"
	"tidemark/coordinator/zkserver/tree"
	"tidemark/internal/vfs"
)

// The files of a store, drawn in docs/formats/zookeeper.md:
//
//	log.<first zxid>      | magic 8 | first zxid 8 | record …
//	                record: | length 4 | CRC-32C 4 | transaction …
//	snapshot.<zxid>       | magic 8 | CRC-32C 4 | state …
const (
	logMagic         = "TMZKLOG\x01"
	snapshotMagic    = "TMZKSNP\x01"
	logHeaderSize    = 16
	recordHeaderSize = 8
	// maxRecordSize bounds a transaction: a frame, plus what ACLs resolve to
	// and the ephemeral nodes of one closed session.
	maxRecordSize = 64 << 20
	// reserve is how much room a log keeps ahead: on a full disk the cluster's small
	// changes go on for a while.
	reserve = 1 << 20
	// keepSnapshots is how many snapshots, with the logs after the oldest of
	// them, stay: the newest may turn out damaged.
	keepSnapshots = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// store keeps transactions and snapshots in a directory. It is confined to the
// server's loop. After an error it refuses everything, as what a failed sync left on
// the disk is unknown; not so where there was no room for what it was to write.
type store struct {
	fs   vfs.FS
	dir  string
	log  *slog.Logger
	lock io.Closer

	file     vfs.File // the active log; nil until the next append
	position int64
	reserved int64 // how far the active log has room
	failed   error

	sinceSnapshot int   // transactions logged since the last snapshot
	logBytes      int64 // bytes logged since then
	snapshotBytes int64 // size of that snapshot
}

// append logs transactions and returns once they are on stable storage. Where the disk
// is full it may be asked for the same again.
func (s *store) append(txns []tree.Txn) error {
	if s.failed != nil {
		return s.failed
	}
	if s.file == nil {
		if err := s.create(txns[0].Zxid); err != nil {
			return s.unlessFull(err)
		}
	}
	w := jute.NewWriter(nil)
	if s.position == 0 {
		w = jute.NewWriter(appendLogHeader(nil, txns[0].Zxid))
	}
	for _, txn := range txns {
		appendRecord(w, txn)
	}
	s.keepRoom(s.position + int64(w.Len()))
	if _, err := s.file.WriteAt(w.Bytes(), s.position); err != nil {
		return s.unlessFull(fmt.Errorf("write %s: %w", s.file.Name(), err))
	}
	if err := s.file.Sync(); err != nil {
		return s.fail(fmt.Errorf("sync %s: %w", s.file.Name(), err))
	}
	if s.position == 0 {
		// The new file's name must be durable before its first transaction is
		// acknowledged.
		if err := s.fs.SyncDir(s.dir); err != nil {
			return s.fail(fmt.Errorf("sync %s: %w", s.dir, err))
		}
	}
	s.position += int64(w.Len())
	s.logBytes += int64(w.Len())
	s.sinceSnapshot += len(txns)
	return nil
}

func (s *store) create(zxid int64) error {
	name := filepath.Join(s.dir, logName(zxid))
	f, err := s.fs.Create(name)
	if err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	s.file, s.position, s.reserved = f, 0, 0
	return nil
}

// keepRoom reserves room behind the end that the log is about to have, as long as the
// disk has some.
func (s *store) keepRoom(end int64) {
	if s.reserved-end >= reserve/2 {
		return
	}
	if err := vfs.Preallocate(s.file, s.reserved, end+reserve); err == nil { // Without it, it goes on as well.
		s.reserved = end + reserve
	}
}

// unlessFull is fail of an error other than that of a full disk.
func (s *store) unlessFull(err error) error {
	if vfs.IsFull(err) {
		return err
	}
	return s.fail(err)
}

func (s *store) fail(err error) error {
	s.failed = err
	return err
}

func appendLogHeader(buf []byte, zxid int64) []byte {
	return binary.BigEndian.AppendUint64(append(buf, logMagic...), uint64(zxid))
}

func appendRecord(w *jute.Writer, txn tree.Txn) {
	at := w.Len()
	w.Int32(0)
	w.Int32(0)
	tree.AppendTxn(w, txn)
	payload := w.Bytes()[at+recordHeaderSize:]
	w.PutInt32(at, int32(len(payload)))
	w.PutInt32(at+4, int32(crc32.Checksum(payload, castagnoli)))
}

// snapshotDue reports whether a snapshot pays: enough transactions, and at least
// as many bytes logged as the last snapshot took.
func (s *store) snapshotDue(every int) bool {
	return s.failed == nil && s.sinceSnapshot >= every && s.logBytes >= s.snapshotBytes
}

// snapshot writes the state, starts a new log and removes what is no longer
// needed. Without room for it the log goes on.
func (s *store) snapshot(t *tree.Tree) error {
	if s.failed != nil {
		return s.failed
	}
	name := filepath.Join(s.dir, snapshotName(t.Zxid()))
	data := encodeSnapshot(t)
	if err := vfs.WriteFileAtomic(s.fs, name, data); vfs.IsFull(err) {
		s.log.Warn("the disk has no room for a snapshot; the transaction log grows on", "error", err)
		s.sinceSnapshot = 0
		return nil
	} else if err != nil {
		return s.fail(fmt.Errorf("write %s: %w", name, err))
	}
	s.sinceSnapshot, s.logBytes, s.snapshotBytes = 0, 0, int64(len(data))
	if err := s.closeLog(); err != nil {
		return s.fail(err)
	}
	s.purge()
	return nil
}

func encodeSnapshot(t *tree.Tree) []byte {
	w := jute.NewWriter([]byte(snapshotMagic))
	w.Int32(0)
	t.AppendSnapshot(w)
	w.PutInt32(len(snapshotMagic), int32(crc32.Checksum(w.Bytes()[len(snapshotMagic)+4:], castagnoli)))
	return w.Bytes()
}

func decodeSnapshot(data []byte) (*tree.Tree, error) {
	head := len(snapshotMagic) + 4
	if len(data) < head || string(data[:len(snapshotMagic)]) != snapshotMagic {
		return nil, errors.New("no snapshot of this version")
	}
	if crc := binary.BigEndian.Uint32(data[len(snapshotMagic):]); crc != crc32.Checksum(data[head:], castagnoli) {
		return nil, errors.New("checksum differs")
	}
	return tree.ReadSnapshot(jute.NewReader(data[head:]))
}

func (s *store) closeLog() error {
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file = nil
	err := f.Truncate(s.position) // The room that was kept is given back.
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("close %s: %w", f.Name(), err)
	}
	return nil
}

// purge removes snapshots beyond the newest few and the logs that only they
// needed. Failing to is no harm: the next one tries again.
func (s *store) purge() {
	files, err := listFiles(s.fs, s.dir)
	if err != nil {
		s.log.Warn("cannot list old logs", "error", err)
		return
	}
	if len(files.snapshots) < keepSnapshots {
		return
	}
	oldest := files.snapshots[len(files.snapshots)-keepSnapshots]
	var remove []string
	for _, z := range files.snapshots {
		if z < oldest {
			remove = append(remove, snapshotName(z))
		}
	}
	for i, z := range files.logs {
		if i+1 < len(files.logs) && files.logs[i+1] <= oldest+1 {
			remove = append(remove, logName(z))
		}
	}
	for _, name := range remove {
		if err := s.fs.Remove(filepath.Join(s.dir, name)); err != nil {
			s.log.Warn("cannot remove old file", "error", err)
		}
	}
}

// close releases the directory; everything acknowledged is durable already.
func (s *store) close() error {
	err := s.closeLog()
	if lerr := s.lock.Close(); err == nil && lerr != nil {
		err = fmt.Errorf("unlock %s: %w", s.dir, lerr)
	}
	return err
}
