package group

import "errors"

// The errors of replies. Each is one of Kafka's error codes, given in capitals.
var (
	ErrInvalidGroupID        = errors.New("invalid group id")                                         // INVALID_GROUP_ID
	ErrUnknownMember         = errors.New("unknown member id")                                        // UNKNOWN_MEMBER_ID
	ErrIllegalGeneration     = errors.New("not the group's generation")                               // ILLEGAL_GENERATION
	ErrRebalanceInProgress   = errors.New("the group is rebalancing")                                 // REBALANCE_IN_PROGRESS
	ErrInconsistentProtocol  = errors.New("protocol type or protocols do not fit the group")          // INCONSISTENT_GROUP_PROTOCOL
	ErrInvalidSessionTimeout = errors.New("session timeout out of range")                             // INVALID_SESSION_TIMEOUT
	ErrMemberIDRequired      = errors.New("join again with the member id given")                      // MEMBER_ID_REQUIRED
	ErrGroupMaxSize          = errors.New("the group is full")                                        // GROUP_MAX_SIZE_REACHED
	ErrFencedInstance        = errors.New("another member has this instance id")                      // FENCED_INSTANCE_ID
	ErrNonEmptyGroup         = errors.New("the group has members")                                    // NON_EMPTY_GROUP
	ErrGroupNotFound         = errors.New("no such group")                                            // GROUP_ID_NOT_FOUND
	ErrSubscribed            = errors.New("the group is subscribed to the topic")                     // GROUP_SUBSCRIBED_TO_TOPIC
	ErrMetadataTooLarge      = errors.New("commit metadata too large")                                // OFFSET_METADATA_TOO_LARGE
	ErrUnstableOffset        = errors.New("a transaction that is not decided commits this offset")    // UNSTABLE_OFFSET_COMMIT
	ErrInvalidRequest        = errors.New("invalid request")                                          // INVALID_REQUEST
	ErrFencedMemberEpoch     = errors.New("not the member's epoch")                                   // FENCED_MEMBER_EPOCH
	ErrUnreleasedInstance    = errors.New("another member still has this instance id")                // UNRELEASED_INSTANCE_ID
	ErrUnsupportedAssignor   = errors.New("unknown assignor")                                         // UNSUPPORTED_ASSIGNOR
	ErrPlainOffsets          = errors.New("offsets.storage=zookeeper keeps no transactions' offsets") // UNSUPPORTED_FOR_MESSAGE_FORMAT
	ErrInvalidRegex          = errors.New("invalid regular expression")                               // INVALID_REGULAR_EXPRESSION
	ErrStaleMemberEpoch      = errors.New("the member must take its new epoch first")                 // STALE_MEMBER_EPOCH
)
