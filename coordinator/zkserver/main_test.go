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

func fourLetterWord(addr, word string, within time.Duration) (string, error) {
	c, err := net.DialTimeout("tcp", addr, time.Second)
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
