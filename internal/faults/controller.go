package faults

// controller is proven by the controller's own scenes with made-up brokers, by the
// client of the metadata store, in simulated clusters, and by broker processes.
var controller = Area{Letter: "C", Title: "Controller and ZooKeeper", Faults: []Fault{
	row("C01", "a leader loses its link to ZooKeeper and no other, for longer than a session",
		"its lease ends before its session can: it acknowledges nothing more, acks=1 neither; its successor has all that was acknowledged, with acks=1 all but what followers had no time to fetch; followers of the new epoch leave it",
		"e2e.TestChaosClusterLeaderWithoutZooKeeper", "e2e.TestChaosClusterRounds", "coordinator/znode.TestLeaseNeedsNews", "replication/sim.TestMany"),
	row("C02", "the controller stands still for longer than its session while it writes and sends, another takes office, and it goes on",
		"each of its writes is refused by the version of the controller epoch, each of its orders by the epoch",
		"coordinator/controller.TestAZombieChangesNothing", "coordinator/controller.TestDeposedControllerCannotWrite", "coordinator/znode.TestFence", "broker/api.TestOrdersOfOthers", "e2e.TestChaosClusterZombieController"),
	row("C03", "the controller dies after any of its writes, before or while it tells brokers",
		"the next one reads everything and tells everybody; brokers take no lower epoch; each epoch has one leader",
		"coordinator/controller.TestControllerDiesAtEveryWrite", "coordinator/controller.TestNextControllerFinishes", "coordinator/controller.TestDroppedAndStaleAnswersAreRepeated", "replication/sim.TestMany", "e2e.TestChaosClusterRounds", "e2e.TestChaosClusterControllerLeads"),
	row("C04", "events of the session are lost, or come in a burst",
		"what to do is decided by the state that is read, never by counting events",
		"coordinator/znode.TestSessionEndsWhileAway", "coordinator/znode.TestNoWatchIsMissed", "coordinator/controller.TestOfficeIsTakenAgainAfterTheSession"),
	row("C05", "a write is applied and its answer is lost",
		"it counts as unknown and is read back; nobody is registered twice, no change of the in-sync set is lost",
		"coordinator/znode.TestLostReplies", "coordinator/znode.TestConfigUpdatesAreNotLost", "coordinator/znode.TestBlocksNeverOverlap", "broker.TestProposalsWithoutAnswer"),
	row("C06", "a broker registers and the node of its dead session is still there",
		"it is replaced where it is its own, waited for where it is another's; no broker runs unregistered, and office is run for once the registration stands",
		"coordinator/znode.TestOwnDeadNodeIsReplaced", "coordinator/znode.TestBrokerIDInUse", "coordinator/controller.TestOfficeIsTakenAgainAfterTheSession", "replication/sim.TestCorpus", "e2e.TestChaosClusterRounds"),
	row("C08", "changes come between a watch that fires and the next one",
		"what is watched is read again whenever a watch is set",
		"coordinator/znode.TestNoWatchIsMissed"),
	row("C09", "all brokers lose the metadata store until every session has ended",
		"leaders give up when their leases end; afterwards there is one controller, nobody was elected uncleanly, and nothing acknowledged is gone",
		"e2e.TestChaosClusterStoreAway", "replication/sim.TestMany"),
	row("C10", "a server of the ensemble answers that is behind the others",
		"decisions are conditional writes: on the version of what was read and on the controller epoch, so that a stale read decides nothing",
		"e2e.TestChaosClusterLaggingStore", "coordinator/znode.TestFence", "coordinator/controller.TestOtherToolsWrite", "coordinator/controller.TestLeadersThatWriteTheISRThemselves"),
	row("C11", "a broker is gone and back faster than its session ends",
		"another registration is another life: its replicas failed and came back; orders to the former life are refused",
		"coordinator/controller.TestABounceIsADeath", "broker/api.TestOrdersOfOthers", "e2e.TestChaosClusterRounds"),
	row("C12", "a second broker of the same id",
		"it does not start while the first one lives",
		"coordinator/znode.TestBrokerIDInUse", "e2e.TestClusterOnEveryStore"),
	row("C14", "more partitions than one request to the store may carry",
		"writes are split, and each checks the controller epoch",
		"coordinator/znode.TestManyPartitions", "coordinator/znode.TestBatchesOfStates", "coordinator/controller.TestManyPartitionsMoveInFewRequests"),
	row("C15", "the session ends in the midst of a controlled shutdown, or of a replica's change of role",
		"roles change whole or not at all; the order comes again and is the same",
		"coordinator/controller.TestControllerDiesAtEveryWrite", "replication.TestChangesOfRole", "replication/sim.TestMany", "broker.TestControlledShutdown"),
	row("C17", "a broker reaches the store and not the controller, or the controller and not the store",
		"the first goes on with what it knows and is told again when it can be; the second gives up what it leads (C01)",
		"coordinator/controller.TestDroppedAndStaleAnswersAreRepeated", "e2e.TestChaosClusterRounds", "e2e.TestChaosClusterLeaderWithoutZooKeeper", "e2e.TestChaosClusterSwizzle", "broker/api.TestSlowStoreHoldsUpNoOtherOrder"),
	row("C18", "the store is away for less than a session, stands still again and again, or is killed in the midst of a write",
		"no session ends and nobody is elected; what was acknowledged is there when it is back; who dies meanwhile is found dead, later by the time that it stood still",
		"e2e.TestChaosClusterStoreAway", "e2e.TestClusterOnAnEnsemble", "e2e.TestChaosClusterStoreStandsStill", "coordinator/zkserver.TestStallExpiresNobody", "coordinator/zkserver.TestStallsKeepNobodyAlive", "coordinator/znode.TestSilentServerIsLeft", "coordinator/zkserver.TestCrashLosesNothingAcknowledged", "coordinator/zkserver.TestRestartKeepsSessions"),
}}

// row is a fault with its proofs.
func row(id, fault, outcome string, proofs ...string) Fault {
	return Fault{ID: id, Fault: fault, Outcome: outcome, Proofs: proofs}
}
