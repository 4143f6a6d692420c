//go:build !unix

package cli

import "os"

func screenOf(*os.File) (columns, lines int) { return 0, 0 }
