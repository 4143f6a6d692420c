package proxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Order asks a mesh for something, in JSON.
type Order struct {
	Flows []Flow `json:"flows"`
	Rule  Rule   `json:"rule"`
	// Lasting is 0 for until the next order.
	Lasting time.Duration `json:"lasting_ns,omitempty"`
	// Once resets the flows' connections and leaves their rules.
	Once bool `json:"once,omitempty"`
}

// State is what a mesh tells about itself.
type State struct {
	// Faults hold now, Timeline is all there were.
	Faults   []Fault `json:"faults"`
	Timeline []Fault `json:"timeline"`
}

// Handler serves a mesh over HTTP: PUT /rules takes an Order, PUT /heal heals,
// GET /state gives the State. All that changes something is a PUT, which no web page
// may send to another origin.
func (m *Mesh) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /rules", func(w http.ResponseWriter, r *http.Request) {
		var o Order
		if !decode(w, r, &o) {
			return
		}
		if o.Once {
			for _, f := range o.Flows {
				m.ResetNow(f)
			}
			return
		}
		if err := m.Set(o.Rule, o.Lasting, o.Flows...); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	})
	mux.HandleFunc("PUT /heal", func(http.ResponseWriter, *http.Request) { m.Heal() })
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		// A client that went away misses the answer, and knows it.
		_ = json.NewEncoder(w).Encode(State{Faults: m.Faults(), Timeline: m.Timeline()})
	})
	return mux
}

// orderBytes is more than any order has.
const orderBytes = 1 << 20

func decode(w http.ResponseWriter, r *http.Request, v any) bool {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, orderBytes))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		http.Error(w, fmt.Sprintf("%s: %v", r.URL.Path, err), http.StatusBadRequest)
		return false
	}
	return true
}
