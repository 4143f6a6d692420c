package target

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"tidemark/bench/cluster"
	"tidemark/bench/fault/proxy"
)

// startCluster starts the load's brokers and their metadata store.
func (t *Target) startCluster(ctx context.Context, o Options) error {
	if len(o.Flags) > 0 {
		return fmt.Errorf("start a cluster: its brokers take no further arguments (%v)", o.Flags)
	}
	executable, err := Program(o.Executable)
	if err != nil {
		return err
	}
	began := time.Now()
	t.cluster, err = cluster.Start(ctx, cluster.Options{
		Program: executable, Dir: filepath.Join(o.Dir, "cluster"), Brokers: o.Load.Brokers,
		Set: settings(o.Load), Proxy: o.Load.Mesh,
	})
	if err != nil {
		return err
	}
	s, err := t.cluster.State()
	if err != nil {
		return errors.Join(err, t.Stop())
	}
	t.Readiness, t.Bootstrap = time.Since(began), s.Bootstrap()
	t.metrics, t.Direct = map[string]string{}, map[string]string{}
	last := proxy.Broker(s.Brokers[len(s.Brokers)-1].Broker)
	for _, b := range s.Brokers {
		t.probe.brokers = append(t.probe.brokers, b.ID.Pid)
		t.metrics[fileOf(b.Broker)] = b.Metrics
		t.Direct[b.Address] = b.Listener
		if name := proxy.Broker(b.Broker); name != last {
			t.slowed = append(t.slowed, proxy.Flow{From: name, To: last})
		}
	}
	t.probe.store, t.probe.mesh = s.Store.ID.Pid, s.Mesh.ID.Pid
	return nil
}

// fileOf begins the names of the files that are kept of a broker.
func fileOf(broker int32) string { return strconv.Itoa(int(broker)) + "-" }

// clusterLogs are the brokers' log files.
func (t *Target) clusterLogs() map[string]string {
	s, err := t.cluster.State()
	if err != nil {
		return nil // they are a help and no result
	}
	logs := map[string]string{}
	for _, b := range s.Brokers {
		logs[fileOf(b.Broker)] = filepath.Join(t.cluster.Dir(), b.Dir, "process.log")
	}
	return logs
}

// SlowFollower bounds what other brokers send to the last one, on each connection:
// the target has a mesh, and one connection carries what the last broker fetches of
// one leader.
func (t *Target) SlowFollower(ctx context.Context, bytesPerSecond int64) error {
	if t.cluster == nil {
		return cluster.ErrNoMesh
	}
	return t.cluster.Rule(ctx, proxy.Rule{BytesPerSecond: max(1, bytesPerSecond)}, 0, t.slowed...)
}
