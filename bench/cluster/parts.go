package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"tidemark/bench/fault/proxy"
)

// startStore starts the metadata store, unless it is one that runs already.
func (c *Cluster) startStore(ctx context.Context, s *State) error {
	s.Store = Process{Dir: storeDir}
	switch s.Zookeeper {
	case Embedded:
		return c.startEmbedded(ctx, s)
	case Real:
		return c.startReal(ctx, s)
	}
	s.Store = Process{}
	servers, chroot, named := strings.Cut(s.Zookeeper, "/")
	s.Connect = servers
	switch {
	case named:
		s.Chroot = "/" + chroot
	case s.Chroot == "":
		// Data is deleted with the cluster, and what the store knows of it is not.
		s.Chroot = "/tidemark-" + strconv.FormatInt(s.Started.UnixMilli(), 36)
	}
	return c.save(s)
}

// findStore checks that one of the servers of a store that is to run already listens.
func (o *Options) findStore() error {
	if o.Zookeeper == Embedded || o.Zookeeper == Real {
		return nil
	}
	servers, _, _ := strings.Cut(o.Zookeeper, "/")
	var errs []error
	for server := range strings.SplitSeq(servers, ",") {
		conn, err := net.Dial("tcp", server)
		if err == nil {
			return conn.Close()
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("metadata store %s: %w; start it first, or leave it to the cluster (%s)", servers, errors.Join(errs...), Embedded)
}

func (c *Cluster) startEmbedded(ctx context.Context, s *State) error {
	ports, err := FreePorts(1)
	if err != nil {
		return err
	}
	dir := filepath.Join(c.dir, storeDir)
	if err := c.launch(&s.Store, s.Program, nil, []string{"zk", "--json", "--listen", loopback(ports[0]), "--data", filepath.Join(dir, dataDir),
		"--tick", time.Duration(s.TickMs * int64(time.Millisecond)).String()}); err != nil {
		return err
	}
	if err := c.save(s); err != nil {
		return err
	}
	r, err := c.awaitReady(ctx, &s.Store)
	if err != nil {
		return err
	}
	s.Connect, s.Store.Listener = r.Listener, r.Listener
	return c.save(s)
}

// startMesh starts the mesh and learns where each broker is to look for the store.
func (c *Cluster) startMesh(ctx context.Context, s *State) error {
	s.Mesh = Process{Dir: meshDir}
	args := []string{"cluster", "mesh", "--json", "--timeline", filepath.Join(c.dir, meshDir, timelineFile), "--seed", strconv.FormatUint(s.Seed, 10), "--store", s.Connect}
	for _, b := range s.Brokers {
		args = append(args, "--broker", fmt.Sprintf("%d=%s=%s", b.Broker, b.Address, b.Listener))
	}
	if err := c.launch(&s.Mesh, s.Program, nil, args); err != nil {
		return err
	}
	if err := c.save(s); err != nil {
		return err
	}
	r, err := c.awaitReady(ctx, &s.Mesh)
	if err != nil {
		return err
	}
	s.Mesh.Metrics, s.StoreLinks = r.Control, r.Links
	return c.save(s)
}

// brokerArgs is the command line of a broker.
func (c *Cluster) brokerArgs(s *State, b *Process) []string {
	args := []string{"broker", "--json"}
	set := func(name, value string) { args = append(args, "--set", name+"="+value) }
	connect := s.Connect
	if s.Proxy {
		connect = s.StoreLinks[b.Broker]
	}
	for _, setting := range s.Settings {
		args = append(args, "--set", setting)
	}
	set("broker.id", strconv.Itoa(int(b.Broker)))
	set("zookeeper.connect", connect+s.Chroot)
	set("listeners", "PLAINTEXT://"+b.Listener)
	if s.Proxy {
		set("advertised.listeners", "PLAINTEXT://"+b.Address)
		set("socket.bind.address", proxy.BrokerIP(b.Broker).String())
	}
	set("log.dirs", strings.Join(c.dataDirs(b.Broker, s.LogDirs), ","))
	if s.Trace {
		set("trace.dir", c.TraceDir())
	}
	if s.Record {
		args = append(args, "--powercut-record", c.recordDir(b.Broker))
	}
	return args
}

// startBrokers starts brokers at once and waits for all.
func (c *Cluster) startBrokers(ctx context.Context, s *State, ids ...int32) error {
	var started []*Process
	for _, id := range ids {
		b, err := s.broker(id)
		if err != nil {
			return err
		}
		if err := c.launch(b, s.Program, nil, c.brokerArgs(s, b)); err != nil {
			return err
		}
		started = append(started, b)
	}
	if err := c.save(s); err != nil {
		return err
	}
	errs := make([]error, len(started))
	var all sync.WaitGroup
	for i, b := range started {
		all.Go(func() {
			r, err := c.awaitReady(ctx, b)
			if err == nil {
				b.Metrics = r.Metrics
				err = c.awaitHealth(ctx, b)
			}
			errs[i] = err
		})
	}
	all.Wait()
	return errors.Join(errors.Join(errs...), c.save(s))
}
