package proxy

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestRemote(t *testing.T) {
	r := newRig(t)
	s := httptest.NewServer(r.mesh.Handler())
	defer s.Close()
	remote := Remote{Address: strings.TrimPrefix(s.URL, "http://")}
	opener, target := r.pair()
	r.passes(opener, target)
	if err := remote.Order(t.Context(), Order{Flows: []Flow{there}, Rule: Rule{Mode: Hang}}); err != nil {
		t.Fatal(err)
	}
	r.send(opener, "late")
	r.silent(target)
	state, err := remote.State(t.Context())
	if err != nil || len(state.Faults) != 1 || state.Faults[0].Flow != there || state.Faults[0].Rule.Mode != Hang || !state.Faults[0].End.IsZero() {
		t.Errorf("state %+v, %v", state, err)
	}
	if err := remote.Heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.gets(target, "late")
	if err := remote.Order(t.Context(), Order{Flows: []Flow{there}, Once: true}); err != nil {
		t.Fatal(err)
	}
	r.isReset(opener)
	state, err = remote.State(t.Context())
	if err != nil || len(state.Faults) != 0 || len(state.Timeline) != 2 || state.Timeline[0].End.IsZero() {
		t.Errorf("state %+v, %v", state, err)
	}
}

func TestRemoteRefusals(t *testing.T) {
	m := New(1)
	defer m.Close()
	s := httptest.NewServer(m.Handler())
	defer s.Close()
	remote := Remote{Address: strings.TrimPrefix(s.URL, "http://")}
	err := remote.Order(t.Context(), Order{Rule: Rule{Mode: "sever"}})
	if err == nil || !strings.Contains(err.Error(), "sever") {
		t.Errorf("an unknown mode: %v", err)
	}
	// A web page may send this one to another origin without asking.
	answer, err := http.Post(s.URL+"/rules", "text/plain", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST answers %s", answer.Status)
	}
	request, _ := http.NewRequest("PUT", s.URL+"/rules", strings.NewReader(`{"flow":[]}`))
	answer, err = http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusBadRequest {
		t.Errorf("an unknown field answers %s", answer.Status)
	}
	http.DefaultClient.CloseIdleConnections()
}
