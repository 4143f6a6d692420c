package load

import (
	"time"

	"tidemark/bench/driver"
	"tidemark/bench/hist"
	"tidemark/bench/result"
)

// assemble merges what the goroutines counted with what the probe read.
func assemble(sp *span, tallies []*tally, w *sampling, unit driver.Unit, began time.Time, o Options) *Outcome {
	warmUp, drain, window := sum(tallies)
	out := &Outcome{Began: began, Whole: map[string]*hist.Histogram{}, BoundByBytes: sp.boundByBytes.Load(), RSSAnonPeak: w.rssAnonPeak}
	start, end := sp.start.Load(), sp.end.Load()
	out.WarmUpNs = start - sp.begin
	for int64(len(window))*sp.interval < end-start {
		window = append(window, &cell{}) // nothing happened there: a row of zeros, not a gap
	}
	total := cell{}
	for _, c := range window {
		total.add(c)
	}
	out.Ledger = result.Ledger{
		Accepted: warmUp.accepted + total.accepted + drain.accepted,
		Acked:    warmUp.acked + total.acked + drain.acked,
		Failed:   warmUp.failed + total.failed + drain.failed,
	}
	wd := &out.Window
	wd.WindowNs = max(1, end-start)
	wd.OfferedPerS = int64(o.PerSecond)
	wd.Accepted, wd.Failed, wd.Requests, wd.WireBytes = total.accepted, total.failed, total.requests, total.wire
	wd.Acked = total.acked + total.consumed*boolean(total.acked == 0 && total.accepted == 0)
	wd.InFlightStart = warmUp.accepted - warmUp.acked - warmUp.failed
	wd.InFlightEnd = wd.InFlightStart + total.accepted - total.acked - total.failed
	wd.PayloadBytes = wd.Acked * int64(o.Load.RecordBytes)
	perSecond := func(n int64) int64 { return int64(float64(n) * 1e9 / float64(wd.WindowNs)) }
	wd.AckedPerS, wd.PayloadPerS, wd.WirePerS = perSecond(wd.Acked), perSecond(wd.PayloadBytes), perSecond(wd.WireBytes)
	wd.LatencyOf = unit.LatencyOf
	out.histograms(sp, window, total)
	out.cpu(w)
	out.rows(sp, window, w, warmUp)
	return out
}

func boolean(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (o *Outcome) histograms(sp *span, window []*cell, total cell) {
	pick := func(c *cell) map[string]*hist.Histogram {
		return map[string]*hist.Histogram{result.HistResponse: c.response, result.HistService: c.service,
			result.HistLateness: c.lateness, result.HistOwnLateness: c.own, result.HistE2E: c.e2e}
	}
	for i, c := range window {
		for _, metric := range []string{result.HistResponse, result.HistService, result.HistLateness, result.HistOwnLateness, result.HistE2E} {
			if h := pick(c)[metric]; h != nil {
				o.Intervals = append(o.Intervals, interval(sp, i, metric, h))
			}
		}
	}
	for metric, h := range pick(&total) {
		if h != nil {
			o.Whole[metric] = h
		}
	}
	o.Window.ResponseNs, o.Window.ServiceNs = summary(total.response), summary(total.service)
	o.Window.LatenessNs, o.Window.OwnLatenessNs, o.Window.E2ENs = summary(total.lateness), summary(total.own), summary(total.e2e)
}

func summary(h *hist.Histogram) *hist.Summary {
	if h == nil {
		return nil
	}
	s := h.Summary()
	return &s
}

func interval(sp *span, i int, metric string, h *hist.Histogram) hist.Interval {
	start, end := sp.start.Load(), sp.end.Load()
	from := start + int64(i)*sp.interval
	return hist.Interval{Metric: metric, Start: time.Duration(from - sp.begin), Length: time.Duration(min(sp.interval, max(0, end-from))), Hist: h}
}

// cpu takes the window's usage from the first and the last reading, scaled to
// the window's exact length.
func (o *Outcome) cpu(w *sampling) {
	if w.lengthNs() == 0 {
		return
	}
	a, b := w.samples[0], w.samples[len(w.samples)-1]
	scale := float64(o.Window.WindowNs) / float64(w.lengthNs())
	part := func(from, to int64) int64 { return int64(float64(to-from) * scale) }
	o.Window.CPU = result.CPU{
		BrokerUserNs: part(a.broker.UserNs, b.broker.UserNs), BrokerSysNs: part(a.broker.SysNs, b.broker.SysNs),
		ClientUserNs: part(a.client.UserNs, b.client.UserNs), ClientSysNs: part(a.client.SysNs, b.client.SysNs),
		ClientMaxThread: float64(w.clientMaxThreadNs) / float64(w.lengthNs()),
	}
	if b.store.CPUNs() > 0 {
		ns := part(a.store.CPUNs(), b.store.CPUNs())
		o.Window.CPU.StoreNs = &ns
	}
	if m := w.machine; m.TotalNs > 0 {
		o.StealRatio = float64(m.StealNs) / float64(m.TotalNs)
		o.OthersRatio = max(0, float64(m.TotalNs-m.IdleNs-m.StealNs-(b.ours()-a.ours()))/float64(m.TotalNs))
	}
}

// rows makes series.csv's rows: one for the warm-up, one for each interval.
func (o *Outcome) rows(sp *span, window []*cell, w *sampling, warmUp cell) {
	start, end := sp.start.Load(), sp.end.Load()
	ms := func(ns int64) int64 { return (ns + 500_000) / 1_000_000 }
	if start > sp.begin {
		o.Rows = append(o.Rows, row("warmup", ms(start-sp.begin), ms(start-sp.begin), &warmUp))
	}
	for i, c := range window {
		from := start + int64(i)*sp.interval
		to := min(from+sp.interval, end)
		r := row("window", ms(to-sp.begin), ms(to-from), c)
		if i+1 < len(w.samples) {
			a, b := w.samples[i], w.samples[i+1]
			r.BrokerCPUNs = b.broker.CPUNs() - a.broker.CPUNs()
			r.ClientCPUNs = b.client.CPUNs() - a.client.CPUNs()
			r.BrokerRSS, r.Debt = b.broker.RSSAnonBytes, b.debt
		}
		o.Rows = append(o.Rows, r)
	}
}

func row(phase string, endMs, lengthMs int64, c *cell) result.Row {
	r := result.Row{TMs: endMs, Phase: phase, LengthMs: lengthMs, Offered: c.offered, Accepted: c.accepted,
		Acked: c.acked, Failed: c.failed, Consumed: c.consumed, WireBytes: c.wire, Debt: -1}
	latency := c.response
	if latency == nil {
		latency = c.service
	}
	if latency != nil {
		r.P50Ns, r.P99Ns, r.MaxNs = latency.At(0.5), latency.At(0.99), latency.Max()
	}
	return r
}
