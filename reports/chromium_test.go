package reports_test

import (
	"context"
	"fmt"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"tidemark/reports/page"
)

// browser finds a Chromium, or skips the test with the command that installs one.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "headless-shell"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium here; install it with scripts/install-chromium.sh")
	return ""
}

// watcher collects what a page must not do.
type watcher struct {
	mu       sync.Mutex
	trouble  []string
	requests []string
}

func (w *watcher) watch(ev any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := ev.(type) {
	case *network.EventRequestWillBeSent:
		w.requests = append(w.requests, e.Request.URL)
	case *log.EventEntryAdded:
		w.trouble = append(w.trouble, string(e.Entry.Level)+": "+e.Entry.Text)
	case *runtime.EventConsoleAPICalled:
		w.trouble = append(w.trouble, "console."+string(e.Type))
	case *runtime.EventExceptionThrown:
		w.trouble = append(w.trouble, "exception: "+e.ExceptionDetails.Text)
	}
}

// picture is what the browser made of one chart.
type picture struct {
	Label         string
	Width, Height float64
	Marks         int
	Overflow      bool
}

const measurePictures = `Array.from(document.querySelectorAll("svg.chart")).map(function (s) {
  var r = s.getBoundingClientRect(), v = s.viewBox.baseVal, out = false;
  s.querySelectorAll("text").forEach(function (t) {
    var c = t.getBoundingClientRect();
    if (c.left < r.left - 2 || c.right > r.right + 2 || c.top < r.top - 2 || c.bottom > r.bottom + 2) out = true;
  });
  return {Label: s.getAttribute("aria-label"), Width: r.width, Height: r.height, Marks: s.querySelectorAll("path").length, Overflow: out};
})`

// open starts a browser whose page is watched from its first event on.
func open(t *testing.T, w *watcher) context.Context {
	t.Helper()
	path := browser(t)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()), chromedp.Env("TMPDIR="+t.TempDir()))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Listen(ctx, w.watch); err != nil {
		t.Fatal(err)
	}
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	if err == nil {
		_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
	}
	if err == nil {
		_, err = chromedp.Call(ctx, runtime.Enable, cdp.Empty{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return ctx
}

// evaluate runs an expression in the page.
func evaluate[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%v in %.80s", err, expression)
	}
	return v
}

const catchClipboard = `Object.defineProperty(navigator, "clipboard", {value: {writeText: function (t) { window.copied = t; return Promise.resolve(); }}}); true`

const copyCosts = `document.querySelector("#cpu details").open = true; document.querySelector("#cpu .copy").click(); window.copied`

// TestChromium opens a written report from disk: no error, no request but the file
// itself, every picture drawn within its frame, sorting and copying at work.
func TestChromium(t *testing.T) {
	dir := wholeFolder(t)
	report, err := page.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	w := &watcher{}
	ctx := open(t, w)
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1200, 900), chromedp.Navigate("file://"+report)); err != nil {
		t.Fatal(err)
	}
	r := load(t, dir)
	checkPictures(t, r, evaluate[[]picture](t, ctx, measurePictures))

	evaluate[bool](t, ctx, catchClipboard)
	want, err := panel(t, r, "cpu").Tables[0].CSV()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, evaluate[string](t, ctx, copyCosts)); d != "" {
		t.Errorf("copied CSV is not what Table.CSV gives (-want +got):\n%s", d)
	}
	first, last := evaluate[string](t, ctx, sortBy("ascending")), evaluate[string](t, ctx, sortBy("descending"))
	if first == last || first == "" {
		t.Errorf("sorting a column of numbers up and down puts %q and %q first", first, last)
	}

	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.trouble) > 0 {
		t.Errorf("the page reported: %q", w.trouble)
	}
	if len(w.requests) == 0 {
		t.Error("not even the page itself was seen to be requested: the watch is blind")
	}
	for _, url := range w.requests {
		if url != "file://"+report && url != "data:," {
			t.Errorf("the page requested %s", url)
		}
	}
}

// sortBy clicks the second column's heading and returns its first value.
func sortBy(direction string) string {
	return fmt.Sprintf(`(function () {
  var t = document.querySelector("#cpu table"), th = t.tHead.rows[0].cells[1];
  th.querySelector("button").click();
  if (th.getAttribute("aria-sort") !== %q) throw new Error("sorted " + th.getAttribute("aria-sort"));
  return t.tBodies[0].rows[0].cells[1].dataset.v;
})()`, direction)
}

func checkPictures(t *testing.T, r *page.Report, pictures []picture) {
	t.Helper()
	want := 0
	for _, p := range r.Sections[0].Panels {
		want += len(p.Figures)
	}
	if len(pictures) != want || want == 0 {
		t.Errorf("the browser shows %d pictures, want %d", len(pictures), want)
	}
	for _, p := range pictures {
		if p.Width < 400 || p.Height < 80 || p.Marks < 3 {
			t.Errorf("picture %q is %.0f × %.0f with %d paths: not visibly drawn", p.Label, p.Width, p.Height, p.Marks)
		}
		if p.Overflow {
			t.Errorf("picture %q has text outside its frame", p.Label)
		}
	}
}
