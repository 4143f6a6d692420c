package group

import (
	"errors"
	"time"

	"tidemark/coordinator/shard"
)

// ErrVerificationVoid says that the producer's transaction ended here, or that the
// groups were loaded again, since its verification began: it is to begin anew. Clients
// are not told.
var ErrVerificationVoid = errors.New("the verification of the transaction is void")

// Verification stands for a question to a transaction's coordinator, whether a
// producer may commit offsets here, that was asked after the last end of a transaction
// of that producer (Kafka's VerificationGuard, KIP-890). It is known by its address.
type Verification struct{ _ byte }

// maxVerifications bounds those that are remembered; who loses one begins anew.
const maxVerifications = 1 << 16

// StartVerification replies with a *Verification, to be given with the producer's
// TxnCommit once its coordinator has agreed. All that the producer has under way
// share it. The error may be ErrPlainOffsets.
func (g *Groups) StartVerification(_ time.Time, producerID int64, token shard.Token, out *Outcome) {
	if g.options.PlainOffsets != nil {
		out.Reply(token, nil, ErrPlainOffsets)
		return
	}
	v, ok := g.verifying[producerID]
	if !ok {
		if len(g.verifying) >= maxVerifications {
			clear(g.verifying)
		}
		v = new(Verification)
		g.verifying[producerID] = v
	}
	out.Reply(token, v, nil)
}
