// Package cleaner decides what compaction leaves of a log (Kafka's Cleaner,
// SkimpyOffsetMap and CleanedTransactionMetadata, KIP-534): of every key the
// record with the greatest offset; tombstones and transaction markers until
// their delete horizon; nothing of aborted transactions.
//
// A round goes twice over batches in the order of their offsets. An Indexer puts
// the keys of the dirty section into an OffsetMap, whose size is bounded; a
// Filter then writes what stays of every batch from the start of the log. The
// order matters: a tombstone may go once everything before it has been filtered
// with it in the map.
//
// The package is pure: no files, no clock, no goroutine. It reads batches whose
// checksums the caller has compared, since it computes new ones.
package cleaner
