package zkserver

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// version is what the four-letter words say: the ZooKeeper whose behaviour this
// server has.
const version = "3.8.0-tidemark, built on 01/01/2026 00:00 UTC"

// stats counts for the four-letter words; it belongs to the loop.
type stats struct{ received, sent int64 }

// fourLetterWords are the words that are answered. None of them is the length
// of a frame within the limit: read as a number each is above 1.6 billion.
var fourLetterWords = map[string]func(*Server) string{
	"ruok": func(*Server) string { return "imok" },
	"isro": func(*Server) string { return "rw" },
	"srvr": (*Server).srvr,
	"stat": func(s *Server) string { return s.srvr() },
	"mntr": (*Server).mntr,
	"conf": (*Server).conf,
	"envi": (*Server).envi,
}

func isFourLetterWord(head [4]byte) bool {
	_, ok := fourLetterWords[string(head[:])]
	return ok
}

func (s *Server) answerWord(word string) string { return fourLetterWords[word](s) }

func (s *Server) srvr() string {
	return fmt.Sprintf("Zookeeper version: %s\nLatency min/avg/max: 0/0.0/0\nReceived: %d\nSent: %d\n"+
		"Connections: %d\nOutstanding: %d\nZxid: %#x\nMode: standalone\nNode count: %d\n",
		version, s.stats.received, s.stats.sent, s.connections(), len(s.tasks), s.tree.Zxid(), s.tree.NodeCount())
}

func (s *Server) mntr() string {
	var b strings.Builder
	for _, line := range []struct {
		key   string
		value any
	}{
		{"zk_version", version},
		{"zk_server_state", "standalone"},
		{"zk_packets_received", s.stats.received},
		{"zk_packets_sent", s.stats.sent},
		{"zk_num_alive_connections", s.connections()},
		{"zk_outstanding_requests", len(s.tasks)},
		{"zk_global_sessions", s.expiry.Len()},
		{"zk_znode_count", s.tree.NodeCount()},
		{"zk_watch_count", s.tree.WatchCount()},
		{"zk_ephemerals_count", s.tree.EphemeralCount()},
		{"zk_approximate_data_size", s.tree.DataSize()},
	} {
		fmt.Fprintf(&b, "%s\t%v\n", line.key, line.value)
	}
	return b.String()
}

func (s *Server) conf() string {
	tick := s.o.TickTime.Milliseconds()
	return fmt.Sprintf("clientPort=%s\ndataDir=%s\ndataLogDir=%s\ntickTime=%d\nmaxClientCnxns=%d\n"+
		"minSessionTimeout=%d\nmaxSessionTimeout=%d\nserverId=0\n",
		s.portText(), s.o.Dir, s.o.Dir, tick, s.o.MaxConnections, 2*tick, 20*tick)
}

func (s *Server) portText() string {
	addr := s.listener.Addr().String()
	return addr[strings.LastIndexByte(addr, ':')+1:]
}

func (s *Server) envi() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("Environment:\nzookeeper.version=%s\nhost.name=%s\ngo.version=%s\nos.name=%s\nos.arch=%s\n",
		version, host, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func (s *Server) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}
