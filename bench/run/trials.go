package run

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"tidemark/bench/result"
	"tidemark/bench/stats"
	"tidemark/bench/trial"
	"tidemark/bench/workload"
)

// What estimates of a trial assume before any was done: two starts of the broker,
// the cut, and reading everything.
const assumedTrial = 2500 * time.Millisecond

// planTrials describes the suite's trials; nil where it has none.
func planTrials(s *workload.Spec) *result.PlanTrials {
	if s.Trials == nil {
		return nil
	}
	t := s.Trials.Resolved()
	load := t.Least + (t.Most-t.Least)/2
	return &result.PlanTrials{Of: t.Experiment.Name.Value, Count: t.Count, Fault: t.Fault, RecordsPerS: int64(t.PerSecond), RecordBytes: int64(t.RecordBytes),
		LeastNs: int64(t.Least), MostNs: int64(t.Most), SecondsPerTrial: (load + assumedTrial).Seconds()}
}

// trialBytes is about what one trial writes.
func trialBytes(s *workload.Spec) int64 {
	t := s.Trials.Resolved()
	return int64(t.PerSecond*t.Most.Seconds()) * int64(t.RecordBytes) * int64(len(t.Cells()))
}

// trials does the suite's trials, one after the other. A trial without an outcome
// is a finding and ends nothing.
func (v *invocation) trials() error {
	if v.Spec.Trials == nil || v.summary.Interrupted {
		return nil
	}
	t := v.Spec.Trials.Resolved()
	random := rand.New(rand.NewPCG(v.plan.Seed, 0x667261637475726c))
	state := result.TrialState{Planned: t.Count}
	if err := v.writer.BeginTrials(t.Count); err != nil {
		return err
	}
	var all []result.Trial
	began := time.Now()
	for i := range t.Count {
		seed := random.Uint64()
		if v.ctx.Err() != nil {
			v.summary.Interrupted = true
			break
		}
		v.Progress.TrialStarted(i, t.Count, v.trialsLeft(i, t.Count, time.Since(began)))
		out, err := v.trial(i, seed, t)
		if err != nil {
			state.Failed = append(state.Failed, result.FailedTrial{Number: i, Seed: seed, Error: err.Error()})
			v.Progress.TrialFinished(nil, err)
		} else {
			state.Done++
			all = append(all, out.Trials...)
			v.Progress.TrialFinished(out.Trials, nil)
		}
		if err := v.writer.Trials(all, state); err != nil {
			return err
		}
	}
	return nil
}

// trial does one trial in a directory of its own. It is not cut off when the user
// asks to stop.
func (v *invocation) trial(number int, seed uint64, t workload.ResolvedTrials) (*trial.Outcome, error) {
	dir, remove, err := freshDir(v.data, len(v.jobs)+number)
	if err != nil {
		return nil, err
	}
	cells := t.Cells()
	o := trial.Options{Executable: v.Executable, Dir: dir, Broker: cells[0].Load.Broker, Seed: seed, Fault: t.Fault,
		RecordBytes: t.RecordBytes, PerSecond: t.PerSecond, LeastLoad: t.Least, MostLoad: t.Most}
	e := v.planned(t.Experiment)
	for _, c := range cells {
		planned := e.Cells[slices.IndexFunc(e.Cells, func(p result.PlanCell) bool { return p.ID == c.ID })]
		o.Cells = append(o.Cells, trial.Cell{ID: c.ID, Label: e.NameOf(planned), Topic: c.Load.Topic})
	}
	out, err := trial.Run(context.WithoutCancel(v.ctx), number, o)
	return out, errors.Join(err, remove())
}

// planned is the plan of an experiment; it has every cell.
func (v *invocation) planned(e *workload.Experiment) *result.PlanExperiment {
	for i := range v.plan.Experiments {
		if p := &v.plan.Experiments[i]; p.Name == e.Name.Value {
			return p
		}
	}
	return nil // every experiment is planned
}

// trialsLeft estimates the time that the trials from i on take.
func (v *invocation) trialsLeft(i, count int, spent time.Duration) time.Duration {
	each := time.Duration(v.plan.Trials.SecondsPerTrial * float64(time.Second))
	if i > 0 {
		each = spent / time.Duration(i)
	}
	return (each * time.Duration(count-i)).Round(time.Second)
}

// closeTrials writes what the trials say.
func (v *invocation) closeTrials(f *result.Folder) error {
	if f.Plan.Trials == nil || f.State.Trials == nil {
		return nil
	}
	v.summary.Durability = stats.OfFolder(f)
	return v.writer.JSON("durability.json", v.summary.Durability)
}
