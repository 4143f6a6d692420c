package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"tidemark/replication/sim"
)

// seedProgress shows how many seeds are played: a bar on a terminal, a line
// every few seconds elsewhere. It is safe for concurrent use.
type seedProgress struct {
	total     int
	container *mpb.Progress
	bar       *mpb.Bar

	mu    sync.Mutex
	w     io.Writer
	seeds int
	bad   int
	next  time.Time
}

// progressEvery is the time between two lines.
const progressEvery = 5 * time.Second

func newSeedProgress(w io.Writer, total int) *seedProgress {
	p := &seedProgress{total: total, w: w, next: time.Now().Add(progressEvery)}
	if onTerminal(w) {
		p.container = mpb.New(mpb.WithOutput(w), mpb.WithWidth(40), mpb.WithRefreshRate(200*time.Millisecond))
		p.bar = p.container.AddBar(int64(total),
			mpb.PrependDecorators(decor.CountersNoUnit("%d/%d seeds ")),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return p.violations() }), decor.AverageETA(decor.ET_STYLE_GO)))
	}
	return p
}

func (p *seedProgress) violations() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf(" %d violations, left ", p.bad)
}

// done counts a seed.
func (p *seedProgress) done(r sim.Result) {
	p.mu.Lock()
	p.seeds++
	if r.Violation != nil {
		p.bad++
	}
	if now := time.Now(); p.bar == nil && now.After(p.next) {
		p.next = now.Add(progressEvery)
		fmt.Fprintf(p.w, "%d/%d seeds, %d violations\n", p.seeds, p.total, p.bad)
	}
	p.mu.Unlock()
	if p.bar != nil {
		p.bar.Increment()
	}
}

func (p *seedProgress) close() {
	if p.bar == nil {
		return
	}
	p.bar.Abort(false) // nothing, once it is complete
	p.container.Wait()
}
