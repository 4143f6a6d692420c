package cluster

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"

	"tidemark/bench/process"
)

// recordName is the folder of a broker's record of what is durable.
const recordName = "powercut"

// brokerDir is a broker's folder.
func (c *Cluster) brokerDir(id int32) string {
	return filepath.Join(c.dir, "broker-"+strconv.Itoa(int(id)))
}

// DataDir is a broker's log directory, the first where it has more.
func (c *Cluster) DataDir(id int32) string { return c.dataDirs(id, 1)[0] }

// dataDirs are so many log directories of a broker.
func (c *Cluster) dataDirs(id int32, count int) []string {
	dirs := []string{filepath.Join(c.brokerDir(id), dataDir)}
	for i := 2; i <= count; i++ {
		dirs = append(dirs, dirs[0]+"-"+strconv.Itoa(i))
	}
	return dirs
}

// DataDirs are a broker's log directories.
func (c *Cluster) DataDirs(id int32) ([]string, error) {
	s, err := c.State()
	if err != nil {
		return nil, err
	}
	return c.dataDirs(id, s.LogDirs), nil
}

func (c *Cluster) recordDir(id int32) string { return filepath.Join(c.brokerDir(id), recordName) }

// ErrNoRecord says that a power cut of a broker cannot be played.
var ErrNoRecord = errors.New("the brokers keep no record of what is durable; start the cluster with one")

// CutPower ends a broker at once, if it has not ended, and takes from its files what
// was not on stable storage, but for what the seed keeps. torn is sector or page.
func (c *Cluster) CutPower(ctx context.Context, id int32, seed uint64, torn string) error {
	s, err := c.State()
	if err != nil {
		return err
	}
	if !s.Record {
		return ErrNoRecord
	}
	b, err := s.broker(id)
	if err != nil {
		return err
	}
	if b.State() != process.Gone {
		if err := c.Kill(id); err != nil {
			return err
		}
	}
	cut := exec.CommandContext(ctx, s.Program, "log", "cut", c.recordDir(id), "--seed", strconv.FormatUint(seed, 10), "--torn", torn, "--json")
	if _, err := cut.Output(); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return fmt.Errorf("power cut of broker %d: %w", id, err)
	}
	return c.note(Action{Do: "power cut", Broker: id})
}
