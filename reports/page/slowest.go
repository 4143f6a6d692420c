package page

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"tidemark/bench/result"
	"tidemark/reports/chart"
	"tidemark/reports/dataset"
)

// dearerFrom is how many times the usual processor time a record of a slow second has
// to have cost for the second to be one of work and not of waiting.
const dearerFrom = 1.5

// slowest is the lowest second of a run's record.
type slowest struct {
	block    int
	from, to float64 // seconds since the start
	rate     float64
	busy     float64 // core-seconds of broker and client in each second, 0 unknown
	cost     float64 // of a million records then
	usual    float64 // the same, median over the seconds at the median rate and above
}

// slowestOf finds it; ok is false in a record without two seconds to compare.
func slowestOf(rows []result.Row) (s slowest, ok bool) {
	load := underLoad(rows)
	var rates []float64
	for _, r := range load {
		rates = append(rates, perSecond(r.Acked, r))
	}
	if len(load) < 2 {
		return s, false
	}
	middle := middleOf(slices.Clone(rates))
	var usual []float64
	for i, r := range load {
		if i == 0 || rates[i] < s.rate {
			s = slowest{from: float64(r.TMs-r.LengthMs) / 1000, to: float64(r.TMs) / 1000, rate: rates[i], busy: float64(cpuOf(r)) / 1e6 / float64(r.LengthMs), cost: costOf(r)}
		}
		if c := costOf(r); c > 0 && rates[i] >= middle {
			usual = append(usual, c)
		}
	}
	s.usual = middleOf(usual)
	return s, true
}

func cpuOf(r result.Row) int64 { return r.BrokerCPUNs + r.ClientCPUNs }

// costOf is core-seconds a million records of broker and client; 0 where unknown.
func costOf(r result.Row) float64 {
	if r.Acked == 0 {
		return 0
	}
	return float64(cpuOf(r)) / 1e3 / float64(r.Acked)
}

// words tell where the second was, what its record shows of why, and what was usually
// behind such a second: that is no record of this run, and the sentence says so.
func (s slowest) words() string {
	said := fmt.Sprintf("The lowest second, %s to %s s into block %d, ran at %s records/s", chart.Plain(s.from), chart.Plain(s.to), s.block, chart.Count(s.rate))
	if s.cost == 0 || s.usual == 0 {
		return said + "; the processor time of that second is not in the record."
	}
	said += fmt.Sprintf(". Broker and client were busy for %.1f core-seconds in it, %.2f a million records, where the seconds at the median rate and above took %.2f: ", s.busy, s.cost, s.usual)
	if s.cost >= dearerFrom*s.usual {
		said += fmt.Sprintf("each record cost %s the processor time, so there was more work and not more waiting. Where such phases were looked into, the kernel was preparing fresh pages of the files, of which a virtual machine's host had to supply some first (docs/decisions/0005 and 0013)", times(s.cost/s.usual))
	} else {
		said += "a record cost about as much as ever, and the rest of the second was waited through or used by others. Where such phases were looked into, the disk was slower, at times because it was told of the blocks of deleted segments (docs/decisions/0022)"
	}
	return said + "; what it was here the record does not show."
}

// slowSeconds are the words on the lowest second of each cell whose runs were not all
// level.
func (v *view) slowSeconds(e *dataset.Experiment) (notes []string, err error) {
	for _, c := range ordered(e) {
		var lowest *slowest
		for _, r := range c.Usable {
			rows, err := v.Series(r)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if k, ok := courseOf(rows); !ok || k.level() {
				continue
			}
			if s, ok := slowestOf(rows); ok && (lowest == nil || s.rate < lowest.rate) {
				s.block = r.Block
				lowest = &s
			}
		}
		if lowest != nil {
			notes = append(notes, heading(e)+", "+cellName(e, c)+": "+lowest.words())
		}
	}
	return notes, nil
}
