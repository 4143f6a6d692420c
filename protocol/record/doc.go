// Package record is the record batch of Kafka's message format 2: the unit in
// which records are produced, stored and fetched. It parses, checks and patches
// batches in place, reads the records in them whatever their compression, and
// builds batches.
//
// Parsing, patching, and checking an uncompressed batch allocate nothing. No
// allocation is made by a size that a batch merely claims: what a compressed
// batch holds is read as a stream, and stops at a limit. The package knows
// nothing of logs, producers' sequences or transactions beyond the one batch.
//
// docs/formats/record-batch.md draws the layout. Kafka's classes are
// DefaultRecordBatch, DefaultRecord and LogValidator.
package record
