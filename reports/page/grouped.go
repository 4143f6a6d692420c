package page

import (
	"math"
	"strconv"

	"tidemark/bench/result"
	"tidemark/reports/dataset"
)

// grouped are the calibrated group commits, by how many writers wait for one.
var grouped = []struct {
	waiters float64
	id      string
}{{1, result.LimitGroup1}, {5, result.LimitGroup5}, {8, result.LimitGroup8}, {40, result.LimitGroup40}, {64, result.LimitGroup64}}

// smallBatch is the largest batch that a group commit of 4 KiB appends is a limit for.
const smallBatch = 4 << 10

// groupCeiling is what group commit yields without a broker, of as many writers as the
// cell has requests in flight: each of them appends 4 KiB and waits for a sync that
// began after that.
var groupCeiling = &ceiling{name: "group commit", window: producedWindow, of: func(v *view, c *dataset.Cell) (result.Limit, bool) {
	if c.Config["storage.flush"] != "group" || c.Driver != "raw" || !networked(c) {
		return result.Limit{}, false
	}
	batch := median(c, func(r result.Run) float64 { return float64(r.Records.BatchBytes) })
	connections, _ := strconv.ParseFloat(c.Config["producers"], 64)
	each, _ := strconv.ParseFloat(c.Config["max.in.flight.requests.per.connection"], 64)
	if batch <= 0 || batch > smallBatch || connections*each < 1 {
		return result.Limit{}, false
	}
	best := grouped[0]
	for _, g := range grouped {
		if math.Abs(math.Log(g.waiters/(connections*each))) < math.Abs(math.Log(best.waiters/(connections*each))) {
			best = g
		}
	}
	l, ok := v.Calib.Get(best.id)
	per := median(c, func(r result.Run) float64 { return wirePerBatch(r) })
	l.Value, l.Low, l.High, l.Unit = l.Value*per, l.Low*per, l.High*per, result.UnitBytesPerS
	return l, ok && per > 0
}}

// wirePerBatch is how many bytes on the wire a batch of the run took.
func wirePerBatch(r result.Run) float64 {
	if r.Produce == nil || r.Produce.Acked <= 0 || r.Records.PerBatch <= 0 {
		return 0
	}
	return float64(r.Produce.WireBytes) / float64(r.Produce.Acked) * float64(r.Records.PerBatch)
}
