package sim

// What befalls the disk of a replica. A process crash leaves the page cache, so
// it leaves the log as it is.

// powerCut drops what was not synced, except for a run of pages that happened to
// be written back: recovery keeps the log up to the first missing page. It says
// how many entries are gone.
func (l *replicaLog) powerCut(r *random) (lost int64) {
	unsynced := l.end() - l.synced
	if unsynced == 0 {
		return 0
	}
	kept := int64(0)
	if r.chance(500) {
		kept = int64(r.below(int(unsynced) + 1))
	}
	end := l.synced + kept
	lost = l.end() - end
	l.truncate(end)
	l.synced = end // recovery syncs what it keeps
	l.syncFailed = false
	return lost
}

// wipe is a new, empty disk.
func (l *replicaLog) wipe(directory int64) (lost int64) {
	lost = l.end()
	l.truncate(0)
	l.directory = directory
	l.syncFailed = false
	return lost
}

// sync puts everything below end on stable storage, or fails: then the pages
// from the synced end on are marked clean without having been written, for good
// (what ext4, XFS and Btrfs do).
func (l *replicaLog) sync(end int64, fails bool) (ok bool) {
	if fails || l.syncFailed {
		l.syncFailed = true
		return false
	}
	l.synced = max(l.synced, min(end, l.end()))
	return true
}
