package broker

import (
	"context"
	"fmt"
	"net"
	"path/filepath"

	"tidemark/coordinator/zkserver"
	"tidemark/coordinator/znode"
)

// zookeeperDir is the embedded metadata store's folder in the first log
// directory.
const zookeeperDir = "zookeeper"

// startZookeeper runs the embedded metadata store where no other is named.
func (b *Broker) startZookeeper(context.Context) (undo, error) {
	if len(b.o.Config.ZookeeperConnect) > 0 {
		return nil, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b.zookeeper, err = zkserver.Start(l, zkserver.Options{
		FS: b.o.FS, Dir: filepath.Join(b.o.Config.LogDirs[0], zookeeperDir), Clock: b.o.Clock, Logger: b.o.Logger,
		// This process is the store's only client, so sessions on disk are
		// those of its dead predecessor.
		ForgetSessions: true,
	})
	if err != nil {
		b.zookeeper = nil
		return nil, explainLock(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		<-b.zookeeper.Done()
		if err := b.zookeeper.Err(); err != nil {
			b.ready.Store(false)
			b.fail(fmt.Errorf("the metadata store stopped: %w", err))
		}
	}()
	return func(context.Context) error {
		err := b.zookeeper.Close()
		<-ended
		return wrap("stop metadata store", err)
	}, nil
}

// connectZookeeper opens the session and learns which cluster this is.
func (b *Broker) connectZookeeper(ctx context.Context) (undo, error) {
	c := b.o.Config
	servers := c.ZookeeperConnect
	if b.zookeeper != nil {
		servers = []string{b.ZookeeperAddr()}
	}
	ctx, cancel := context.WithTimeout(ctx, c.ZookeeperConnectionTimeout)
	defer cancel()
	var err error
	b.client, err = znode.Connect(ctx, znode.Options{
		Servers: servers, Chroot: c.ZookeeperChroot, SessionTimeout: c.ZookeeperSessionTimeout, Logger: b.o.Logger,
		Trace: b.trace.Tracer(),
	})
	if err != nil {
		return nil, fmt.Errorf("%w (is zookeeper.connect right? without it the embedded metadata store is used)", err)
	}
	stop := func(context.Context) error {
		b.client.Close()
		return nil
	}
	b.lease = b.client.Lease()
	if err := b.client.EnsureLayout(ctx); err != nil {
		return stop, err
	}
	if err := b.client.AgreeISRUpdate(ctx, c.Replication.ISRUpdate); err != nil {
		return stop, err
	}
	b.clusterID, err = b.client.ClusterID(ctx)
	return stop, err
}
