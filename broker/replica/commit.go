package replica

// highWatermark is the commit rule: the first offset that consumers may not read,
// given the current one, the end of what the leader counts as written and the
// in-sync set. It never goes back.
//
// A leader alone in its in-sync set commits what it counts. With other members
// it would have to know how far they are; followers do not fetch from here, so
// the high watermark stands still, which is safe.
func highWatermark(current, counted int64, self int32, isr []int32) int64 {
	if len(isr) == 1 && isr[0] == self {
		return max(current, counted)
	}
	return current
}
