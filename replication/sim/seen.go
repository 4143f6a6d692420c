package sim

// What clients see: I12, I13 for readers, I14.

// onServed is I12's first half: consumers get only what lies below the high
// watermark.
func (w *world) onServed(b *broker, from, end int64) {
	if end > b.hw {
		w.violate("I12", "broker %d serves offsets %d to %d over its high watermark %d", b.id, from, end, b.hw)
	}
}

// onSeen is I12's second half and I13 for readers: what was seen at an offset
// stays there.
func (w *world) onSeen(c *client, j *job) {
	g := &w.ghost
	for i, e := range j.entries {
		at := c.position + int64(i)
		if g.entries[e.id].offset != at {
			w.violate("I13", "a consumer reads at offset %d a record that was appended at %d", at, g.entries[e.id].offset)
		}
		if !w.bound() || g.gaveUp() && j.epoch < w.zk.state.leaderEpoch {
			continue // a deposed leader, after an election that gave records up
		}
		switch {
		case at < int64(len(g.seen)):
			if g.seen[at] != e.id && g.seen[at] != 0 {
				w.violate("I12", "a consumer reads at offset %d another record than was read there before", at)
			}
			g.seen[at] = e.id
		default:
			for int64(len(g.seen)) < at {
				g.seen = append(g.seen, 0)
			}
			g.seen = append(g.seen, e.id)
		}
	}
}

// onDisappeared is I12 for a consumer past the end of the log.
func (w *world) onDisappeared(c *client, j *job) {
	if w.bound() && !w.ghost.gaveUp() {
		w.violate("I12", "a consumer at offset %d meets a log that ends at %d", c.position, j.logEnd)
	}
}

// orderHolds is I14: what was sent after an acknowledgement lies behind it, unless
// records were given up since, or are about to be: a leader that lost them and was
// replaced before it took office acknowledges at their offsets, until it hears of
// that or of its successor.
func (g *ghost) orderHolds(c *client, offset int64) {
	if g.w.bound() && c.acks == -1 && g.declared == c.declared && !g.exceeded && !g.unclean && offset <= c.floor {
		g.w.violate("I14", "a record sent after offset %d was acknowledged lies at offset %d", c.floor, offset)
	}
}
