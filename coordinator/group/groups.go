package group

// Groups is the state of one partition of __consumer_offsets: the groups that hash
// to it. It is confined to its shard's goroutine. It implements shard.Machine.
type Groups struct {
	options Options
}

// New returns a partition without groups.
func New(o Options) *Groups { return &Groups{options: o} }
