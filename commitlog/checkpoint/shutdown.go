package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"

	"tidemark/internal/vfs"
)

// NoBrokerEpoch stands for a clean-shutdown marker that carries none.
const NoBrokerEpoch = -1

// WriteCleanShutdown leaves the marker of an orderly shutdown in a log
// directory, with the broker epoch that ends (Kafka's CleanShutdownFileHandler,
// KIP-966). It is written last, after every log was closed.
func WriteCleanShutdown(fsys vfs.FS, dir string, brokerEpoch int64) error {
	text, err := json.Marshal(map[string]string{
		"version":      "0",
		"broker_epoch": strconv.FormatInt(brokerEpoch, 10),
	})
	if err != nil {
		return fmt.Errorf("write clean-shutdown marker: %w", err)
	}
	return vfs.WriteFileAtomic(fsys, filepath.Join(dir, CleanShutdownFile), text)
}

// TakeCleanShutdown reads the marker and removes it, durably: from now on a
// crash is a crash. An empty or unreadable marker, such as older Kafka's, counts
// as clean with NoBrokerEpoch.
func TakeCleanShutdown(fsys vfs.FS, dir string) (clean bool, brokerEpoch int64, err error) {
	path := filepath.Join(dir, CleanShutdownFile)
	data, clean, err := read(fsys, path)
	if err != nil || !clean {
		return false, NoBrokerEpoch, err
	}
	if err := fsys.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, NoBrokerEpoch, fmt.Errorf("remove clean-shutdown marker: %w", err)
	}
	if err := fsys.SyncDir(dir); err != nil {
		return false, NoBrokerEpoch, fmt.Errorf("remove clean-shutdown marker: %w", err)
	}
	return true, decodeBrokerEpoch(data), nil
}

func decodeBrokerEpoch(data []byte) int64 {
	var fields map[string]string
	if json.Unmarshal(data, &fields) != nil {
		return NoBrokerEpoch
	}
	epoch, err := strconv.ParseInt(fields["broker_epoch"], 10, 64)
	if err != nil || epoch < 0 {
		return NoBrokerEpoch
	}
	return epoch
}
