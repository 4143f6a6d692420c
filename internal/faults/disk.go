package faults

var disk = Area{Letter: "D", Title: "Disk", Faults: []Fault{
	{"D01", "the disk is full in the middle of an append, on a file system in memory and on one with a journal",
		"refused, nothing acknowledged and nothing left behind the end; appends go on once there is room, without a restart",
		[]string{"engines/enginetest.TestFullDisk", "engines/enginetest.TestFullDiskTakenForDoneIsCaught", "broker/replica.TestFullDiskIsNotFinal", "broker/replica.TestCreateOnFullDisk"}},
	{"D02", "EIO from a write, a reservation or a truncation; a write that the kernel cuts short",
		"the append fails, the end is where it was and no part of the append stays in the file; the log takes no more and its directory goes offline",
		[]string{"engines/enginetest.TestInjectedByTheKernel", "engines/enginetest.TestBuiltinAppendEngines", "engines/enginetest.TestShortWrites", "engines/append/direct.TestShortWrites", "engines/append/buffered.TestShortWriteLeavesNoTrace", "commitlog.TestErrorsOfTheDisk"}},
	{"D03", "fdatasync fails once; the kernel says that the next one is well",
		"every later flush and append fails too, as the lost pages count as clean; the directory goes offline",
		[]string{"engines/enginetest.TestInjectedByTheKernel", "engines/enginetest.TestBuiltinAppendEngines", "commitlog.TestErrorsOfTheDisk", "broker/replica.TestFailedSyncTakesDirectoryOffline", "commitlog.TestFailedSyncsPromiseNothing", "commitlog.TestIgnoredSyncErrorsAreCaught"}},
	{"D06", "a mapped page that cannot be had: the file was truncated by a stranger, or the disk is full or broken",
		"an error of that append or fetch, never the end of the process nor zeros for data; index files are not mapped",
		[]string{"engines/enginetest.TestBuiltinAppendEngines", "engines/enginetest.TestBuiltinReadEngines", "engines/append/mapped.TestFileTruncatedByAStranger", "engines/read/mapped.TestLostPageOnTheWayToASocket", "internal/vfs.TestFaultIsAnError"}},
	{"D12", "the power is cut under load, with every append engine and flush policy",
		"flush=batch and flush=group lose nothing that was acknowledged; flush=os loses no more than the debt counted; the broker starts and serves what is left, whole and in order",
		[]string{"e2e.TestChaosPowerCut"}},
	{"D13", "the power is cut at the moment of an acknowledgement, or at any call of the disk before it, under flush=batch and flush=group",
		"the sync of a record, and of the name of its segment, comes before its acknowledgement",
		[]string{"broker/replica.TestAcknowledgedIsSynced"}},
}}
