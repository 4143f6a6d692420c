// Command ownengine is a broker, a bench and a log tool with one more append
// engine than the shipped ones: all that a stranger's engine takes.
package main

import (
	"tidemark/cmd/cli"
	"tidemark/engines/catalog"
)

func main() {
	cli.Main(cli.Options{Engines: catalog.Builtin().WithAppend(doubling())})
}
