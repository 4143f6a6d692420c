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

func sendAll(*net.TCPConn, *os.File, *int64, int) error { return errLinux }

// receive reads until the connection ends; only Linux discards in the kernel
// and waits for a low-water mark in a blocking read.
func receive(f *os.File, _ int, discards bool, arrived *atomic.Int64) error {
	if discards {
		return errLinux
	}
	buf := make([]byte, receiveBytes)
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
