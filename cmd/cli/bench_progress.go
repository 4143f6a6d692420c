package cli

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"tidemark/bench/result"
	"tidemark/bench/run"
)

// newProgress is a bar on a terminal and plain lines elsewhere, on standard
// error either way; done ends it before anything else is printed.
func newProgress(app *App, calibrates bool) (p run.Progress, done func()) {
	lines := &lineProgress{w: app.Err, calibrates: calibrates}
	if !onTerminal(app.Err) {
		return lines, func() {}
	}
	bar := &barProgress{lineProgress: lines}
	return bar, bar.close
}

// lineProgress writes a line for each run.
type lineProgress struct {
	w          io.Writer
	calibrates bool
	// what the run in progress is
	title string
	began time.Time
}

func (p *lineProgress) Planned(plan result.Plan, folder string) {
	t := plan.Totals
	if p.calibrates {
		t.Seconds += calibrationSeconds
	}
	fmt.Fprintf(p.w, "%s: %s, about %s; writes up to about %s in all, %s at one time; Ctrl-C keeps what is finished\n%s\n",
		plan.Suite, runsOf(plan), minutes(t.Seconds), gigabytes(t.BytesWritten), gigabytes(t.PeakBytes), folder)
}

func (p *lineProgress) Note(text string) { fmt.Fprintln(p.w, text) }

// Started implements run.Progress. Run and block are numbered as in the files.
func (p *lineProgress) Started(order, total int, experiment, label string, block int, left time.Duration) {
	p.title = fmt.Sprintf("%3d/%d  run %d, %s, block %d: %s", order+1, total, order, experiment, block, label)
	p.began = time.Now()
	if left > 0 {
		p.title += fmt.Sprintf("  (%s left)", left)
	}
}

func (p *lineProgress) Finished(r *result.Run, err error) {
	fmt.Fprintf(p.w, "%s  %s  %.1fs\n", p.title, outcome(r, err), time.Since(p.began).Seconds())
}

// TrialStarted implements run.Progress.
func (p *lineProgress) TrialStarted(number, total int, left time.Duration) {
	p.title = fmt.Sprintf("%3d/%d  trial %d", number+1, total, number)
	p.began = time.Now()
	if left > 0 {
		p.title += fmt.Sprintf("  (%s left)", left)
	}
}

// TrialFinished implements run.Progress.
func (p *lineProgress) TrialFinished(cells []result.Trial, err error) {
	fmt.Fprintf(p.w, "%s  %s  %.1fs\n", p.title, trialOutcome(cells, err), time.Since(p.began).Seconds())
}

// trialOutcome is one trial in a few words.
func trialOutcome(cells []result.Trial, err error) string {
	if err != nil {
		return "FAILED: " + err.Error()
	}
	var acked, lost, lossy, wrong int64
	for i := range cells {
		acked += cells[i].Acked
		wrong += cells[i].Wrong()
		if lost += cells[i].Lost; cells[i].Lost > 0 {
			lossy++
		}
	}
	text := fmt.Sprintf("%s acknowledged, %s of them lost, in %d of %d cells", count(float64(acked)), count(float64(lost)), lossy, len(cells))
	if wrong > 0 {
		text += fmt.Sprintf("; %d records WRONG", wrong)
	}
	return text
}

// outcome is one run in a few words.
func outcome(r *result.Run, err error) string {
	if err != nil {
		return "FAILED: " + err.Error()
	}
	text := ""
	if r.Produce != nil {
		text = count(float64(r.Produce.AckedPerS)) + "/s in"
		if r.Kind == result.Paced && r.Produce.ResponseNs != nil {
			text += fmt.Sprintf(", p50 %s p99 %s", nanoseconds(r.Produce.ResponseNs.P50), nanoseconds(r.Produce.ResponseNs.P99))
		}
	}
	if r.Fetch != nil {
		text += ", " + count(float64(r.Fetch.AckedPerS)) + "/s out"
	}
	if r.Status != result.Valid {
		text += fmt.Sprintf("  %s: %s", r.Status, strings.Join(r.Reasons, "; "))
	}
	return text
}

// barProgress keeps one bar with the time left below the lines.
type barProgress struct {
	*lineProgress
	container *mpb.Progress
	bar       *mpb.Bar
	left      atomic.Int64 // read by the goroutine that draws
}

// Started implements run.Progress.
func (p *barProgress) Started(order, total int, experiment, label string, block int, left time.Duration) {
	if p.container == nil {
		p.begin(total, "runs")
	}
	p.left.Store(int64(left))
	p.lineProgress.Started(order, total, experiment, label, block, 0)
}

// begin starts the bar of so many runs or trials.
func (p *barProgress) begin(total int, what string) {
	if p.container == nil {
		p.container = mpb.New(mpb.WithOutput(p.w), mpb.WithWidth(40), mpb.WithRefreshRate(200*time.Millisecond))
		p.w = p.container // lines go above the bar
	} else {
		p.bar.Abort(true)
	}
	p.bar = p.container.AddBar(int64(total),
		mpb.PrependDecorators(decor.CountersNoUnit("%d/%d "+what+" ")),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return " " + time.Duration(p.left.Load()).String() + " left" })))
}

// Finished implements run.Progress.
func (p *barProgress) Finished(r *result.Run, err error) {
	p.lineProgress.Finished(r, err)
	p.bar.Increment()
}

// TrialStarted implements run.Progress.
func (p *barProgress) TrialStarted(number, total int, left time.Duration) {
	if number == 0 {
		p.begin(total, "trials")
	}
	p.left.Store(int64(left))
	p.lineProgress.TrialStarted(number, total, 0)
}

// TrialFinished implements run.Progress.
func (p *barProgress) TrialFinished(cells []result.Trial, err error) {
	p.lineProgress.TrialFinished(cells, err)
	p.bar.Increment()
}

func (p *barProgress) close() {
	if p.container == nil {
		return
	}
	p.bar.Abort(false) // nothing, once it is complete
	p.container.Wait()
}
