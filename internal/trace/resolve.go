package trace

// Resolver finds the events that others name by a request: what a leader does for a
// follower's fetch is told with the fetch's correlation id (Event.Asked), and a
// follower, which knows its own request alone, names that as the cause of what the
// leader's response led to. Afterwards causes are ids, and go request, response, what
// the follower does with it, as the simulator has them. Events must come in the order
// of their times. The zero value is ready.
type Resolver struct {
	fetches map[fetcher]*recent
}

type fetcher struct {
	broker int32
	tp     string
}

// recent are the last fetches of a follower, the newest at next−1.
type recent struct {
	next    int
	entries [8]asked
}

type asked struct {
	correlation       int32
	request, response ID
}

// Resolve gives the event its cause.
func (r *Resolver) Resolve(e *Event) {
	switch {
	case e.Kind == Fetch && e.Phase == "request":
		r.note(fetcher{e.ID.Broker, e.TopicPartition}, asked{correlation: e.Correlation, request: e.ID})
	case !e.Asked.IsZero():
		// A question that is asked again is told once.
		a := r.find(fetcher{e.Asked.Broker, e.TopicPartition}, func(a *asked) bool { return a.correlation <= e.Asked.Correlation })
		if a == nil {
			return
		}
		if e.Cause.IsZero() {
			e.Cause = a.request
		}
		e.Asked = Request{}
		if e.Kind == Fetch {
			a.response = e.ID
		}
	case e.Cause.Broker == e.ID.Broker && !e.Cause.IsZero():
		a := r.find(fetcher{e.ID.Broker, e.TopicPartition}, func(a *asked) bool { return a.request == e.Cause })
		if a != nil && !a.response.IsZero() {
			e.Cause = a.response
		}
	}
}

func (r *Resolver) note(f fetcher, a asked) {
	if r.fetches == nil {
		r.fetches = map[fetcher]*recent{}
	}
	last := r.fetches[f]
	if last == nil {
		last = &recent{}
		r.fetches[f] = last
	}
	last.entries[last.next%len(last.entries)] = a
	last.next++
}

// find returns the newest that is wanted.
func (r *Resolver) find(f fetcher, wanted func(*asked) bool) *asked {
	last := r.fetches[f]
	if last == nil {
		return nil
	}
	for back := 1; back <= min(last.next, len(last.entries)); back++ {
		if a := &last.entries[(last.next-back)%len(last.entries)]; wanted(a) {
			return a
		}
	}
	return nil
}
