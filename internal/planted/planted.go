// Package planted holds the known-bad builds: one flaw each, planted where a careless
// hand would leave it, so that the tests can prove that they would find it. They exist
// only under the build tag planted; in every other build Is is false at compile time
// and the flaw's code is gone.
package planted

// Flaw is a known-bad build.
type Flaw string
