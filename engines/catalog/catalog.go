// Package catalog lists the engines that Tidemark ships. Only programs and tests
// see it; everything else is handed an engines.Catalog.
package catalog

import (
	"tidemark/engines"
	appendbuffered "tidemark/engines/append/buffered"
	"tidemark/engines/append/direct"
	appendmapped "tidemark/engines/append/mapped"
	readmapped "tidemark/engines/read/mapped"
	"tidemark/engines/read/pread"
	"tidemark/engines/read/sendfile"
)

// Builtin is the catalog of the shipped engines; With… adds another.
func Builtin() engines.Catalog {
	return engines.Catalog{}.
		WithAppend(appendbuffered.Spec()).
		WithAppend(appendmapped.Spec()).
		WithAppend(direct.Spec()).
		WithRead(pread.Spec()).
		WithRead(sendfile.Spec()).
		WithRead(readmapped.Spec())
}
