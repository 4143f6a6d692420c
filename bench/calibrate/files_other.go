//go:build !linux

package calibrate

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
)

var errLinux = errors.New("only measured on Linux")

func dataSync(f *os.File) error { return f.Sync() }

func mapFile(*os.File, int) ([]byte, func() error, error) { return nil, nil, errLinux }

func openDirect(string, int) (*os.File, []byte, error) { return nil, nil, errLinux }

func sendAll(*net.TCPConn, *os.File, int64, int) error { return errLinux }

// reading reads until the connection ends; only Linux discards in the kernel and
// waits for a low-water mark in a blocking read.
func reading(f *os.File, _ way, _ string, arrived *atomic.Int64) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := f.Read(buf)
		arrived.Add(int64(n))
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func discarding(*os.File, way, string, *atomic.Int64) error { return errLinux }

func storing(int) receiver { return discarding }
