package wire

import "fmt"

type errorRow struct {
	name      string
	retriable bool
}

// errorRows holds the row of code c at c+1, since codes start at -1.
var errorRows = [...]errorRow{
	UnknownServerError + 1:                     {"UNKNOWN_SERVER_ERROR", false},
	None + 1:                                   {"NONE", false},
	OffsetOutOfRange + 1:                       {"OFFSET_OUT_OF_RANGE", false},
	CorruptMessage + 1:                         {"CORRUPT_MESSAGE", true},
	UnknownTopicOrPartition + 1:                {"UNKNOWN_TOPIC_OR_PARTITION", true},
	InvalidFetchSize + 1:                       {"INVALID_FETCH_SIZE", false},
	LeaderNotAvailable + 1:                     {"LEADER_NOT_AVAILABLE", true},
	NotLeaderOrFollower + 1:                    {"NOT_LEADER_OR_FOLLOWER", true},
	RequestTimedOut + 1:                        {"REQUEST_TIMED_OUT", true},
	BrokerNotAvailable + 1:                     {"BROKER_NOT_AVAILABLE", true},
	ReplicaNotAvailable + 1:                    {"REPLICA_NOT_AVAILABLE", true},
	MessageTooLarge + 1:                        {"MESSAGE_TOO_LARGE", false},
	StaleControllerEpoch + 1:                   {"STALE_CONTROLLER_EPOCH", false},
	OffsetMetadataTooLarge + 1:                 {"OFFSET_METADATA_TOO_LARGE", false},
	NetworkException + 1:                       {"NETWORK_EXCEPTION", true},
	CoordinatorLoadInProgress + 1:              {"COORDINATOR_LOAD_IN_PROGRESS", true},
	CoordinatorNotAvailable + 1:                {"COORDINATOR_NOT_AVAILABLE", true},
	NotCoordinator + 1:                         {"NOT_COORDINATOR", true},
	InvalidTopicException + 1:                  {"INVALID_TOPIC_EXCEPTION", false},
	RecordListTooLarge + 1:                     {"RECORD_LIST_TOO_LARGE", false},
	NotEnoughReplicas + 1:                      {"NOT_ENOUGH_REPLICAS", true},
	NotEnoughReplicasAfterAppend + 1:           {"NOT_ENOUGH_REPLICAS_AFTER_APPEND", true},
	InvalidRequiredAcks + 1:                    {"INVALID_REQUIRED_ACKS", false},
	IllegalGeneration + 1:                      {"ILLEGAL_GENERATION", false},
	InconsistentGroupProtocol + 1:              {"INCONSISTENT_GROUP_PROTOCOL", false},
	InvalidGroupID + 1:                         {"INVALID_GROUP_ID", false},
	UnknownMemberID + 1:                        {"UNKNOWN_MEMBER_ID", false},
	InvalidSessionTimeout + 1:                  {"INVALID_SESSION_TIMEOUT", false},
	RebalanceInProgress + 1:                    {"REBALANCE_IN_PROGRESS", false},
	InvalidCommitOffsetSize + 1:                {"INVALID_COMMIT_OFFSET_SIZE", false},
	TopicAuthorizationFailed + 1:               {"TOPIC_AUTHORIZATION_FAILED", false},
	GroupAuthorizationFailed + 1:               {"GROUP_AUTHORIZATION_FAILED", false},
	ClusterAuthorizationFailed + 1:             {"CLUSTER_AUTHORIZATION_FAILED", false},
	InvalidTimestamp + 1:                       {"INVALID_TIMESTAMP", false},
	UnsupportedSASLMechanism + 1:               {"UNSUPPORTED_SASL_MECHANISM", false},
	IllegalSASLState + 1:                       {"ILLEGAL_SASL_STATE", false},
	UnsupportedVersion + 1:                     {"UNSUPPORTED_VERSION", false},
	TopicAlreadyExists + 1:                     {"TOPIC_ALREADY_EXISTS", false},
	InvalidPartitions + 1:                      {"INVALID_PARTITIONS", false},
	InvalidReplicationFactor + 1:               {"INVALID_REPLICATION_FACTOR", false},
	InvalidReplicaAssignment + 1:               {"INVALID_REPLICA_ASSIGNMENT", false},
	InvalidConfig + 1:                          {"INVALID_CONFIG", false},
	NotController + 1:                          {"NOT_CONTROLLER", true},
	InvalidRequest + 1:                         {"INVALID_REQUEST", false},
	UnsupportedForMessageFormat + 1:            {"UNSUPPORTED_FOR_MESSAGE_FORMAT", false},
	PolicyViolation + 1:                        {"POLICY_VIOLATION", false},
	OutOfOrderSequenceNumber + 1:               {"OUT_OF_ORDER_SEQUENCE_NUMBER", false},
	DuplicateSequenceNumber + 1:                {"DUPLICATE_SEQUENCE_NUMBER", false},
	InvalidProducerEpoch + 1:                   {"INVALID_PRODUCER_EPOCH", false},
	InvalidTxnState + 1:                        {"INVALID_TXN_STATE", false},
	InvalidProducerIDMapping + 1:               {"INVALID_PRODUCER_ID_MAPPING", false},
	InvalidTransactionTimeout + 1:              {"INVALID_TRANSACTION_TIMEOUT", false},
	ConcurrentTransactions + 1:                 {"CONCURRENT_TRANSACTIONS", false},
	TransactionCoordinatorFenced + 1:           {"TRANSACTION_COORDINATOR_FENCED", false},
	TransactionalIDAuthorizationFailed + 1:     {"TRANSACTIONAL_ID_AUTHORIZATION_FAILED", false},
	SecurityDisabled + 1:                       {"SECURITY_DISABLED", false},
	OperationNotAttempted + 1:                  {"OPERATION_NOT_ATTEMPTED", false},
	KafkaStorageError + 1:                      {"KAFKA_STORAGE_ERROR", true},
	LogDirNotFound + 1:                         {"LOG_DIR_NOT_FOUND", false},
	SASLAuthenticationFailed + 1:               {"SASL_AUTHENTICATION_FAILED", false},
	UnknownProducerID + 1:                      {"UNKNOWN_PRODUCER_ID", false},
	ReassignmentInProgress + 1:                 {"REASSIGNMENT_IN_PROGRESS", false},
	DelegationTokenAuthDisabled + 1:            {"DELEGATION_TOKEN_AUTH_DISABLED", false},
	DelegationTokenNotFound + 1:                {"DELEGATION_TOKEN_NOT_FOUND", false},
	DelegationTokenOwnerMismatch + 1:           {"DELEGATION_TOKEN_OWNER_MISMATCH", false},
	DelegationTokenRequestNotAllowed + 1:       {"DELEGATION_TOKEN_REQUEST_NOT_ALLOWED", false},
	DelegationTokenAuthorizationFailed + 1:     {"DELEGATION_TOKEN_AUTHORIZATION_FAILED", false},
	DelegationTokenExpired + 1:                 {"DELEGATION_TOKEN_EXPIRED", false},
	InvalidPrincipalType + 1:                   {"INVALID_PRINCIPAL_TYPE", false},
	NonEmptyGroup + 1:                          {"NON_EMPTY_GROUP", false},
	GroupIDNotFound + 1:                        {"GROUP_ID_NOT_FOUND", false},
	FetchSessionIDNotFound + 1:                 {"FETCH_SESSION_ID_NOT_FOUND", true},
	InvalidFetchSessionEpoch + 1:               {"INVALID_FETCH_SESSION_EPOCH", true},
	ListenerNotFound + 1:                       {"LISTENER_NOT_FOUND", true},
	TopicDeletionDisabled + 1:                  {"TOPIC_DELETION_DISABLED", false},
	FencedLeaderEpoch + 1:                      {"FENCED_LEADER_EPOCH", true},
	UnknownLeaderEpoch + 1:                     {"UNKNOWN_LEADER_EPOCH", true},
	UnsupportedCompressionType + 1:             {"UNSUPPORTED_COMPRESSION_TYPE", false},
	StaleBrokerEpoch + 1:                       {"STALE_BROKER_EPOCH", false},
	OffsetNotAvailable + 1:                     {"OFFSET_NOT_AVAILABLE", true},
	MemberIDRequired + 1:                       {"MEMBER_ID_REQUIRED", false},
	PreferredLeaderNotAvailable + 1:            {"PREFERRED_LEADER_NOT_AVAILABLE", true},
	GroupMaxSizeReached + 1:                    {"GROUP_MAX_SIZE_REACHED", false},
	FencedInstanceID + 1:                       {"FENCED_INSTANCE_ID", false},
	EligibleLeadersNotAvailable + 1:            {"ELIGIBLE_LEADERS_NOT_AVAILABLE", true},
	ElectionNotNeeded + 1:                      {"ELECTION_NOT_NEEDED", true},
	NoReassignmentInProgress + 1:               {"NO_REASSIGNMENT_IN_PROGRESS", false},
	GroupSubscribedToTopic + 1:                 {"GROUP_SUBSCRIBED_TO_TOPIC", false},
	InvalidRecord + 1:                          {"INVALID_RECORD", false},
	UnstableOffsetCommit + 1:                   {"UNSTABLE_OFFSET_COMMIT", true},
	ThrottlingQuotaExceeded + 1:                {"THROTTLING_QUOTA_EXCEEDED", true},
	ProducerFenced + 1:                         {"PRODUCER_FENCED", false},
	ResourceNotFound + 1:                       {"RESOURCE_NOT_FOUND", false},
	DuplicateResource + 1:                      {"DUPLICATE_RESOURCE", false},
	UnacceptableCredential + 1:                 {"UNACCEPTABLE_CREDENTIAL", false},
	InconsistentVoterSet + 1:                   {"INCONSISTENT_VOTER_SET", false},
	InvalidUpdateVersion + 1:                   {"INVALID_UPDATE_VERSION", false},
	FeatureUpdateFailed + 1:                    {"FEATURE_UPDATE_FAILED", false},
	PrincipalDeserializationFailure + 1:        {"PRINCIPAL_DESERIALIZATION_FAILURE", false},
	SnapshotNotFound + 1:                       {"SNAPSHOT_NOT_FOUND", false},
	PositionOutOfRange + 1:                     {"POSITION_OUT_OF_RANGE", false},
	UnknownTopicID + 1:                         {"UNKNOWN_TOPIC_ID", true},
	DuplicateBrokerRegistration + 1:            {"DUPLICATE_BROKER_REGISTRATION", false},
	BrokerIDNotRegistered + 1:                  {"BROKER_ID_NOT_REGISTERED", false},
	InconsistentTopicID + 1:                    {"INCONSISTENT_TOPIC_ID", true},
	InconsistentClusterID + 1:                  {"INCONSISTENT_CLUSTER_ID", false},
	TransactionalIDNotFound + 1:                {"TRANSACTIONAL_ID_NOT_FOUND", false},
	FetchSessionTopicIDError + 1:               {"FETCH_SESSION_TOPIC_ID_ERROR", true},
	IneligibleReplica + 1:                      {"INELIGIBLE_REPLICA", false},
	NewLeaderElected + 1:                       {"NEW_LEADER_ELECTED", false},
	OffsetMovedToTieredStorage + 1:             {"OFFSET_MOVED_TO_TIERED_STORAGE", false},
	FencedMemberEpoch + 1:                      {"FENCED_MEMBER_EPOCH", false},
	UnreleasedInstanceID + 1:                   {"UNRELEASED_INSTANCE_ID", false},
	UnsupportedAssignor + 1:                    {"UNSUPPORTED_ASSIGNOR", false},
	StaleMemberEpoch + 1:                       {"STALE_MEMBER_EPOCH", false},
	MismatchedEndpointType + 1:                 {"MISMATCHED_ENDPOINT_TYPE", false},
	UnsupportedEndpointType + 1:                {"UNSUPPORTED_ENDPOINT_TYPE", false},
	UnknownControllerID + 1:                    {"UNKNOWN_CONTROLLER_ID", false},
	UnknownSubscriptionID + 1:                  {"UNKNOWN_SUBSCRIPTION_ID", false},
	TelemetryTooLarge + 1:                      {"TELEMETRY_TOO_LARGE", false},
	InvalidRegistration + 1:                    {"INVALID_REGISTRATION", false},
	TransactionAbortable + 1:                   {"TRANSACTION_ABORTABLE", false},
	InvalidRecordState + 1:                     {"INVALID_RECORD_STATE", false},
	ShareSessionNotFound + 1:                   {"SHARE_SESSION_NOT_FOUND", false},
	InvalidShareSessionEpoch + 1:               {"INVALID_SHARE_SESSION_EPOCH", false},
	FencedStateEpoch + 1:                       {"FENCED_STATE_EPOCH", false},
	InvalidVoterKey + 1:                        {"INVALID_VOTER_KEY", false},
	DuplicateVoter + 1:                         {"DUPLICATE_VOTER", false},
	VoterNotFound + 1:                          {"VOTER_NOT_FOUND", false},
	InvalidRegularExpression + 1:               {"INVALID_REGULAR_EXPRESSION", false},
	RebootstrapRequired + 1:                    {"REBOOTSTRAP_REQUIRED", false},
	StreamsInvalidTopology + 1:                 {"STREAMS_INVALID_TOPOLOGY", false},
	StreamsInvalidTopologyEpoch + 1:            {"STREAMS_INVALID_TOPOLOGY_EPOCH", false},
	StreamsTopologyFenced + 1:                  {"STREAMS_TOPOLOGY_FENCED", false},
	ShareSessionLimitReached + 1:               {"SHARE_SESSION_LIMIT_REACHED", true},
	GroupDeletionFailed + 1:                    {"GROUP_DELETION_FAILED", false},
	StreamsTopologyDescriptionUpdateFailed + 1: {"STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED", false},
	ControllerIDNotRegistered + 1:              {"CONTROLLER_ID_NOT_REGISTERED", false},
}

func (c ErrorCode) row() (errorRow, bool) {
	i := int(c) + 1
	if i < 0 || i >= len(errorRows) {
		return errorRow{}, false
	}
	return errorRows[i], true
}

// String is Kafka's name of the code.
func (c ErrorCode) String() string {
	if r, ok := c.row(); ok {
		return r.name
	}
	return fmt.Sprintf("ERROR_%d", int16(c))
}

// Retriable says whether a client may send the same request again (Kafka's
// RetriableException).
func (c ErrorCode) Retriable() bool {
	r, _ := c.row()
	return r.retriable
}
