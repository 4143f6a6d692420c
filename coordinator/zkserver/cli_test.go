package zkserver

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const zkCli = "/usr/share/zookeeper/bin/zkCli.sh"

// cliScript has every command of zkCli.sh that a Kafka operator types.
const cliScript = `create /cli top
create -e /cli/e mine
create -s /cli/s- seq
create -s -e /cli/se- both
create -c /cli/c box
create -t 100000 /cli/t ttl
create /cli/e/x no
create /cli again
ls /
ls -s /cli
ls -R /cli
get /cli
get -s /cli
stat /cli
set /cli changed
set -v 7 /cli no
set -s -v 1 /cli more
getAllChildrenNumber /cli
getEphemerals /cli
addWatch -m PERSISTENT /cli
set /cli watched
removewatches /cli
addWatch -m PERSISTENT_RECURSIVE /cli
create /cli/deep a
create /cli/deep/er b
removewatches /cli
sync /cli
getAcl /cli
addauth digest user:secret
setAcl /cli/deep auth:user:secret:crwda
getAcl /cli/deep
whoami
get -w /cli/deep
set /cli/deep new
delete /cli/none
delete /cli/deep
delete /cli/deep/er
deleteall /cli
ls /
quit
`

// TestZkCli types the same into zkCli.sh against both servers and wants the same
// on the screen.
func TestZkCli(t *testing.T) {
	if testing.Short() {
		t.Skip("zkCli.sh needs a Java machine; not with -short")
	}
	if _, err := os.Stat(zkCli); err != nil {
		t.Skip(installHint)
	}
	screens := map[string]string{}
	eachServer(t, func(t *testing.T, addr string) {
		defer clearNodes(t, addr)
		screens[filepath.Base(t.Name())] = typeInto(t, addr)
	})
	embedded := screens["embedded"]
	if diff := cmp.Diff(strings.Split(screens["zookeeper"], "\n"), strings.Split(embedded, "\n")); diff != "" {
		t.Errorf("the screen differs from the one with ZooKeeper (-want +got):\n%s", diff)
	}
	for _, want := range []string{"Created /cli/se-0000000002", "numChildren = 5", "path:/cli/deep/er", "dataVersion = 2",
		"version No is not valid : /cli", "'digest,'user:", "Node does not exist: /cli/none", "Node not empty: /cli/deep"} {
		if !strings.Contains(embedded, want) {
			t.Errorf("the screen lacks %q:\n%s", want, embedded)
		}
	}
}

// varying are the parts of a screen that no two runs share.
var varying = regexp.MustCompile(`(?m)^(cZxid|mZxid|pZxid|ctime|mtime|ephemeralOwner) = .*$|zxid: -?\d+|\d{4}-\d\d-\d\d.*$`)

func typeInto(t *testing.T, addr string) string {
	t.Helper()
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, zkCli, "-server", addr)
	cmd.Env = append(os.Environ(), "ZOO_LOG_DIR="+dir, "CLIENT_JVMFLAGS=-Xmx128m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
	cmd.Stdin = strings.NewReader(cliScript)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("zkCli.sh: %v\n%s", err, out.Bytes())
	}
	text := strings.ReplaceAll(out.String(), addr, "SERVER")
	return orderEvents(varying.ReplaceAllString(text, "$1 …"))
}

// orderEvents moves the lines of events to the end, in their order: another
// thread of zkCli.sh prints them, anywhere between those of the commands. What
// that thread and the start say besides is left out.
func orderEvents(screen string) string {
	var lines, events []string
	for _, line := range strings.Split(screen, "\n") {
		switch {
		case strings.HasPrefix(line, "WatchedEvent"):
			if !strings.Contains(line, "type:None") {
				events = append(events, line)
			}
		case line == "", line == "WATCHER::", strings.HasPrefix(line, "SLF4J"), strings.HasPrefix(line, "JLine"),
			strings.HasPrefix(line, "Welcome"), strings.HasPrefix(line, "Connecting"):
		default:
			lines = append(lines, line)
		}
	}
	return strings.Join(append(lines, events...), "\n")
}
