package faults

var logs = Area{Letter: "L", Title: "Log", Faults: []Fault{
	{"L01", "a torn tail: the last batch cut at every byte",
		"cut off at the last whole batch; what was synced is kept; every append engine goes on behind it",
		[]string{"commitlog.TestTornTailAtEveryByte", "commitlog.TestPowerCutAtEveryCall", "engines/enginetest.TestBuiltinAppendEngines"}},
	{"L02", "the file grew and its data did not, or old bytes lie behind the end; space reserved by an engine that was killed",
		"zeros are never batches and no damage, old bytes are cut off; whichever engine comes next writes the same file",
		[]string{"commitlog.TestTailOfGarbage", "commitlog.TestAppendEngineChanges", "engines/enginetest.TestBuiltinAppendEngines"}},
	{"L07", "the power is cut between any two calls of appends, rolls, flushes, truncations, retention, deletion of records, reconfiguration, close and open; any subset of what was not synced survives",
		"the log is a prefix of what was appended, with all that was promised; its checksums, indexes and producers are right; it goes on; a second recovery changes nothing",
		[]string{"commitlog.TestPowerCutsInATrace", "commitlog.TestPowerCutsWithEveryEngine", "commitlog.TestPowerCutAtEveryCall", "commitlog.TestPowerCutInATruncation", "commitlog.TestRemovedSegmentsReturnInOrder"}},
	{"L18", "consumers read while the log is appended to, rolled, truncated, reconfigured to other engines, shortened from the front and deleted",
		"every byte below the high watermark is right at any time, in every pair of engines; a chunk outlives its segment",
		[]string{"commitlog.TestReadersBesideTheLife", "engines/enginetest.TestBuiltinPairs"}},
	{"L19", "the process is killed under load, again and again on the same files, with every append engine and flush policy",
		"everything acknowledged is served after the restart, whole, once and at the offset of its answer; the files are sound",
		[]string{"e2e.TestChaosKillLosesNothing", "e2e.TestChaosCheckerIsNotBlind"}},
	{"L20", "the power is cut inside a recovery, and inside the recovery from that, 20 times",
		"nothing that was promised before the first cut is lost in any",
		[]string{"commitlog.TestPowerCutsInsideRecoveries"}},
}}
