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
	// keepSnapshots is how many snapshots, with the logs after the oldest of
	// them, stay: the newest may turn out damaged.
	keepSnapshots = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// store keeps transactions and snapshots in a directory. It is confined to the
// server's loop. After an error it refuses everything: what a failed sync left
// on the disk is unknown.
type store struct {
	fs   vfs.FS
	dir  string
	log  *slog.Logger
	lock io.Closer

	file     vfs.File // the active log; nil until the next append
	position int64
	failed   error

	sinceSnapshot int   // transactions logged since the last snapshot
	logBytes      int64 // bytes logged since then
	snapshotBytes int64 // size of that snapshot
}

// append logs transactions and returns once they are on stable storage.
func (s *store) append(txns []tree.Txn) error {
	if s.failed != nil {
		return s.failed
	}
	w := jute.NewWriter(nil)
	if s.file == nil {
		if err := s.create(txns[0].Zxid); err != nil {
			return s.fail(err)
		}
		w = jute.NewWriter(appendLogHeader(nil, txns[0].Zxid))
	}
	for _, txn := range txns {
		appendRecord(w, txn)
	}
	if _, err := s.file.WriteAt(w.Bytes(), s.position); err != nil {
		return s.fail(fmt.Errorf("write %s: %w", s.file.Name(), err))
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
	s.file, s.position = f, 0
	return nil
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
// needed.
func (s *store) snapshot(t *tree.Tree) error {
	if s.failed != nil {
		return s.failed
	}
	name := filepath.Join(s.dir, snapshotName(t.Zxid()))
	data := encodeSnapshot(t)
	if err := vfs.WriteFileAtomic(s.fs, name, data); err != nil {
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
	if err := f.Close(); err != nil {
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
