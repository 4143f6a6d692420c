package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ZooKeeperScript is the server script of Debian's package.
const ZooKeeperScript = "/usr/share/zookeeper/bin/zkServer.sh"

// startReal starts Apache ZooKeeper.
func (c *Cluster) startReal(ctx context.Context, s *State) error {
	if _, err := os.Stat(ZooKeeperScript); err != nil {
		return fmt.Errorf("ZooKeeper is not installed; to install it: scripts/install-zookeeper.sh (%w)", err)
	}
	ports, err := FreePorts(1)
	if err != nil {
		return err
	}
	dir := filepath.Join(c.dir, storeDir)
	env, args, err := ZooKeeperCommand(dir, ports[0], time.Duration(s.TickMs)*time.Millisecond)
	if err != nil {
		return err
	}
	if err := c.launch(&s.Store, ZooKeeperScript, env, args); err != nil {
		return err
	}
	if err := c.save(s); err != nil {
		return err
	}
	address := loopback(ports[0])
	err = c.await(ctx, &s.Store, func() (bool, error) {
		answer, err := ask(address, "srvr") // it says imok earlier than it serves
		return err == nil && strings.Contains(answer, "Mode: standalone"), nil
	})
	if err != nil {
		return err
	}
	s.Connect, s.Store.Listener = address, address
	return c.save(s)
}

// ZooKeeperCommand writes a configuration for one server of Apache ZooKeeper into
// dir and returns what to run ZooKeeperScript with. The script becomes the server, so
// its process is the server's.
func ZooKeeperCommand(dir string, port int, tick time.Duration) (env, args []string, err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, nil, fmt.Errorf("zookeeper: %w", err)
	}
	files := map[string]string{
		"zoo.cfg": "tickTime=" + strconv.FormatInt(tick.Milliseconds(), 10) + "\ndataDir=" + filepath.Join(dir, dataDir) +
			"\nclientPort=" + strconv.Itoa(port) + "\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n" +
			"extendedTypesEnabled=true\n4lw.commands.whitelist=*\nmaxClientCnxns=0\n",
		"log4j.properties": "log4j.rootLogger=WARN, CONSOLE\nlog4j.appender.CONSOLE=org.apache.log4j.ConsoleAppender\n" +
			"log4j.appender.CONSOLE.target=System.err\nlog4j.appender.CONSOLE.layout=org.apache.log4j.SimpleLayout\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return nil, nil, fmt.Errorf("zookeeper: %w", err)
		}
	}
	env = []string{"ZOOCFGDIR=" + dir, "ZOO_LOG_DIR=" + dir,
		"SERVER_JVMFLAGS=-Xmx256m -Dzookeeper.extendedTypesEnabled=true -Dznode.container.checkIntervalMs=200 -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
	return env, []string{"start-foreground", filepath.Join(dir, "zoo.cfg")}, nil
}

// ask sends one of ZooKeeper's four-letter words.
func ask(address, word string) (string, error) {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }() // its answer is in
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(io.LimitReader(conn, 64<<10))
	return string(answer), errors.Join(err)
}
