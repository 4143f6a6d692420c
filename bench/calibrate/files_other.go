//go:build !linux

package calibrate

import (
	"errors"
	"net"
	"os"
)

var errLinux = errors.New("only measured on Linux")

func dataSync(f *os.File) error { return f.Sync() }

func mapFile(*os.File, int) ([]byte, func() error, error) { return nil, nil, errLinux }

func openDirect(string, int) (*os.File, []byte, error) { return nil, nil, errLinux }

func sendAll(*net.TCPConn, *os.File, int) error { return errLinux }

func discard(*os.File) error { return errLinux }
