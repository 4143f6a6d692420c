// Command tidemark is the whole of Tidemark: broker, metadata store, bench and
// tools, with the engines it ships.
package main

import (
	"tidemark/cmd/cli"
	"tidemark/engines/catalog"
)

func main() {
	cli.Main(cli.Options{Engines: catalog.Builtin()})
}
