package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"tidemark/bench/fault/proxy"
)

// MeshOptions is what the mesh process of a cluster does.
type MeshOptions struct {
	// Timeline is the file it leaves its timeline in when it ends.
	Timeline string
	Seed     uint64
	// Store is where the metadata store listens, as host:port[,host:port…]: each broker
	// has one of the servers, in turn.
	Store string
	// Brokers are as id=ADDRESS=LISTENER: where it listens for a broker, and where
	// the broker does.
	Brokers []string
}

// MeshReady is what the mesh process prints when it serves.
type MeshReady struct {
	// Control is where it takes orders.
	Control string `json:"control"`
	// Links are its addresses of the store, by broker id.
	Links map[int32]string `json:"links"`
}

// ServeMesh runs the mesh of a cluster until ctx ends; serving is called once it does.
func ServeMesh(ctx context.Context, o MeshOptions, serving func(MeshReady) error) (err error) {
	m := proxy.New(o.Seed)
	defer func() {
		err = errors.Join(err, m.Close(), writeTimeline(o.Timeline, m.Timeline()))
	}()
	servers := strings.Split(o.Store, ",")
	r := MeshReady{Links: map[int32]string{}}
	for i, text := range o.Brokers {
		if err := addBroker(m, text, servers[i%len(servers)], r.Links); err != nil {
			return err
		}
	}
	l, err := net.Listen("tcp", loopback(0))
	if err != nil {
		return fmt.Errorf("mesh: %w", err)
	}
	r.Control = l.Addr().String()
	server := http.Server{Handler: m.Handler(), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	if err = serving(r); err == nil {
		<-ctx.Done()
	}
	err = errors.Join(err, server.Close())
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}

// addBroker listens for a broker, and for what it sends to the store.
func addBroker(m *proxy.Mesh, text, server string, links map[int32]string) error {
	parts := strings.Split(text, "=")
	id, err := strconv.ParseInt(parts[0], 10, 32)
	if err != nil || len(parts) != 3 {
		return fmt.Errorf("mesh: broker %q: want id=address=listener", text)
	}
	name := proxy.Broker(int32(id))
	m.Target(name, parts[2])
	m.TargetOf(proxy.Flow{From: name, To: proxy.Store}, server)
	if _, err := m.Listen(parts[1], name, proxy.Who); err != nil {
		return err
	}
	l, err := m.Listen(loopback(0), proxy.Store, func(netip.Addr) proxy.Name { return name })
	if err != nil {
		return err
	}
	links[int32(id)] = l.String()
	return nil
}

func writeTimeline(path string, faults []proxy.Fault) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("mesh: %w", err)
	}
	encoder := json.NewEncoder(f)
	for _, fault := range faults {
		err = errors.Join(err, encoder.Encode(fault))
	}
	return errors.Join(err, f.Close())
}
