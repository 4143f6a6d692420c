package zkserver

import (
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tidemark/coordinator/zkserver/jute"
)

type juteWriter = jute.Writer

func TestMain(m *testing.M) {
	code := m.Run()
	stopZooKeeper()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines are left:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// patience bounds what a test waits for; only what is broken takes so long.
const patience = 2 * time.Minute

// listenAgain takes a port that a server has let go of. An outgoing connection may have it
// meanwhile, and is waited for.
func listenAgain(t *testing.T, addr string) net.Listener {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		l, err := net.Listen("tcp", addr)
		if err == nil {
			return l
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func fourLetterWord(addr, word string, within time.Duration) (string, error) {
	c, err := net.DialTimeout("tcp", addr, within)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(within)); err != nil {
		return "", err
	}
	if _, err := c.Write([]byte(word)); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(c)
	return string(answer), err
}
