package api

import (
	"errors"
	"regexp"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/coordinator/shard"
	"tidemark/coordinator/txn"
	"tidemark/protocol/wire"
)

// ListTransactions (66), versions 0 to 2: the transactional ids that this broker
// coordinates. 1 filters by how long a transaction is open (KIP-994), 2 by a pattern of
// RE2, which must match a whole id (KIP-1152).
func listTransactions(s *Server, _ client, req *kmsg.ListTransactionsRequest, answer func(kmsg.Response)) {
	resp := kmsg.NewPtrListTransactionsResponse()
	r := &txn.ListRequest{ProducerIDs: req.ProducerIDFilters, OpenFor: -1}
	if req.Version >= 1 && req.DurationFilterMillis >= 0 {
		r.OpenFor = time.Duration(req.DurationFilterMillis) * time.Millisecond
	}
	for _, name := range req.StateFilters {
		if !txn.KnownState(name) {
			resp.UnknownStateFilters = append(resp.UnknownStateFilters, name)
			continue
		}
		r.States = append(r.States, name)
	}
	pattern := ""
	if req.Version >= 2 {
		pattern = deref(req.TransactionalIDPattern)
	}
	if pattern != "" {
		whole, err := regexp.Compile("^(?:" + pattern + ")$")
		if err != nil {
			resp.ErrorCode = int16(wire.InvalidRegularExpression)
			answer(resp)
			return
		}
		r.Matches = whole.MatchString
	}
	if len(req.StateFilters) > 0 && len(r.States) == 0 {
		answer(resp) // of the states asked for, none is known
		return
	}
	s.o.Txns.SubmitAll(func(x *txn.Txns, now time.Time, token shard.Token, out *txn.Outcome) {
		x.List(now, r, token, out)
	}, func(replies []shard.Reply) {
		for _, reply := range replies {
			if reply.Err != nil && !errors.Is(reply.Err, shard.ErrNotCoordinator) {
				resp.ErrorCode, resp.TransactionStates = int16(groupCode(reply.Err)), nil
				break
			}
			if body, ok := reply.Body.(*txn.ListReply); ok {
				resp.TransactionStates = append(resp.TransactionStates, listedTransactions(body.Transactions)...)
			}
		}
		answer(resp)
	})
}

func listedTransactions(list []txn.Listed) []kmsg.ListTransactionsResponseTransactionState {
	out := make([]kmsg.ListTransactionsResponseTransactionState, len(list))
	for i, l := range list {
		out[i] = kmsg.NewListTransactionsResponseTransactionState()
		out[i].TransactionalID, out[i].ProducerID, out[i].TransactionState = l.ID, l.ProducerID, l.State.String()
	}
	return out
}
