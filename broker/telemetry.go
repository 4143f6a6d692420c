package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"tidemark/broker/api"
)

// telemetry serves metrics, profiles and health over HTTP. It answers questions
// and changes nothing.
type telemetry struct {
	registry *prometheus.Registry
	listener net.Listener // nil when switched off
	latency  latency
}

// startTelemetry registers the process's own metrics and opens metrics.listener.
func (b *Broker) startTelemetry(context.Context) (undo, error) {
	t := &telemetry{registry: prometheus.NewRegistry()}
	b.telemetry = t
	t.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	t.latency.register(t.registry)
	address := b.o.Config.MetricsListener
	if address == "" {
		return nil, nil
	}
	var err error
	if t.listener, err = listen(address, "metrics.listener=", ""); err != nil {
		return nil, err
	}
	server := &http.Server{Handler: t.routes(b), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		ErrorLog: slog.NewLogLogger(b.o.Logger.Handler(), slog.LevelDebug)}
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := server.Serve(t.listener); !errors.Is(err, http.ErrServerClosed) {
			b.o.Logger.Error("metrics are no longer served", "error", err)
		}
	}()
	return func(context.Context) error {
		err := server.Close()
		<-served
		return wrap("stop metrics", err)
	}, nil
}

func (t *telemetry) routes(b *Broker) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /debt", func(w http.ResponseWriter, _ *http.Request) {
		if !b.ready.Load() {
			http.Error(w, "starting or stopping", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, b.durabilityDebt()) // For who asks every second: /metrics costs a hundred times that.
	})
	mux.HandleFunc("GET /partitions", b.servePartitions)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !b.ready.Load() {
			http.Error(w, "starting or stopping", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// observe takes one answered request; it is called on the data path.
func (t *telemetry) observe(key int16, took time.Duration) { t.latency.observe(key, took) }

// maxKey bounds the api label: keys above it share one value.
const maxKey = 127

// latency is the request histogram per API key.
type latency struct {
	seconds *prometheus.HistogramVec
	byKey   [maxKey + 2]atomic.Pointer[prometheus.Observer] // filled on first use
}

func (l *latency) register(r *prometheus.Registry) {
	l.seconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "tidemark_request_seconds", Help: "Time from a request's last byte to its answer being ready.",
		Buckets: prometheus.ExponentialBuckets(20e-6, 2, 20)}, []string{"api"})
	r.MustRegister(l.seconds)
}

func (l *latency) observe(key int16, took time.Duration) {
	i := maxKey + 1
	if key >= 0 && key <= maxKey {
		i = int(key)
	}
	o := l.byKey[i].Load()
	if o == nil {
		label := api.Name(key)
		if label == "" {
			label = "other"
		}
		first := l.seconds.WithLabelValues(label)
		o = &first
		l.byKey[i].Store(o)
	}
	(*o).Observe(took.Seconds())
}
