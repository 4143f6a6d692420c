// Package catalog lists the replication strategies that Tidemark ships. Only
// programs and tests see it; everything else is handed a replication.Catalog.
package catalog

import (
	"tidemark/replication"
	"tidemark/replication/allsync"
	"tidemark/replication/async"
	"tidemark/replication/isr"
	"tidemark/replication/quorum"
)

// Default is the strategy of a topic that names none.
const Default = isr.Name

// Builtin is the catalog of the shipped strategies; With adds another.
func Builtin() replication.Catalog {
	return replication.Catalog{}.
		With(async.Spec()).
		With(allsync.Spec()).
		With(isr.Spec()).
		With(quorum.Spec())
}
