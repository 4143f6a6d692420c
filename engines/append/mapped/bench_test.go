package mapped_test

import (
	"testing"

	"tidemark/engines"
	"tidemark/engines/append/mapped"
	"tidemark/engines/enginetest"
)

// BenchmarkPrefault measures what making pages present ahead brings. What it says
// of the engine alone need not hold in a broker, whose memory comes from elsewhere.
func BenchmarkPrefault(b *testing.B) {
	for name, off := range map[string]bool{"on": false, "off": true} {
		spec := mapped.Spec()
		open := spec.Open
		spec.Open = func(f engines.File, size int64, o engines.AppendOptions) (engines.Appender, error) {
			o.NoPrefault = off
			return open(f, size, o)
		}
		b.Run(name, func(b *testing.B) { enginetest.BenchmarkAppend(b, spec) })
	}
}
