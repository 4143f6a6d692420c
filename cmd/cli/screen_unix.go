//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

func screenOf(f *os.File) (columns, lines int) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(size.Col), int(size.Row)
}
