// Package archtest keeps the arrows between packages as docs/ARCHITECTURE.md
// draws them: its test parses the imports of every source file and compares
// them with one table. It has no code of its own outside the test.
package archtest
