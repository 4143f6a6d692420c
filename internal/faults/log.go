package faults

var logs = Area{Letter: "L", Title: "Log", Faults: []Fault{
	{"L01", "a torn tail: the last batch cut at every byte",
		"cut off at the last whole batch; what was synced is kept; every append engine goes on behind it",
		[]string{"commitlog.TestTornTailAtEveryByte", "commitlog.TestPowerCutAtEveryCall", "engines/enginetest.TestBuiltinAppendEngines"}},
	{"L02", "the file grew and its data did not, or old bytes lie behind the end; space reserved by an engine that was killed",
		"zeros are never batches and no damage, old bytes are cut off; whichever engine comes next writes the same file",
		[]string{"commitlog.TestTailOfGarbage", "commitlog.TestAppendEngineChanges", "engines/enginetest.TestBuiltinAppendEngines"}},
	{"L18", "consumers read while the log is appended to, rolled, truncated, reconfigured to other engines, shortened from the front and deleted",
		"every byte below the high watermark is right at any time, in every pair of engines; a chunk outlives its segment",
		[]string{"commitlog.TestReadersBesideTheLife", "engines/enginetest.TestBuiltinPairs"}},
	{"L19", "the process is killed under load, again and again on the same files, with every append engine and flush policy",
		"everything acknowledged is served after the restart, whole, once and at the offset of its answer; the files are sound",
		[]string{"e2e.TestChaosKillLosesNothing", "e2e.TestChaosCheckerIsNotBlind"}},
}}
