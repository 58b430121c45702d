package provider

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// answering is a service that gives these answers one after the other, and a client of it whose
// waiting takes no time.
func answering(t *testing.T, answers ...http.HandlerFunc) (*client, *[]time.Duration, *[]string) {
	t.Helper()
	var waits []time.Duration
	var keys []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		next := answers[0]
		answers = answers[min(1, len(answers)-1):]
		next(w, r)
	}))
	t.Cleanup(server.Close)
	c := newClient(server.URL, "svc_test", "test")
	c.wait = func(_ context.Context, pause time.Duration) error {
		waits = append(waits, pause)
		return nil
	}
	return c, &waits, &keys
}

func saying(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for at := 0; at+1 < len(headers); at += 2 {
			w.Header().Set(headers[at], headers[at+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func cutOff(w http.ResponseWriter, _ *http.Request) {
	panic(http.ErrAbortHandler)
}

func TestItWaitsAsToldAndThenGoesOn(t *testing.T) {
	c, waits, _ := answering(t, saying(429, `{}`, "Retry-After", "7"), saying(503, `{}`, "Retry-After", "5"), saying(200, `{"id":"1"}`))
	got, err := c.call(t.Context(), http.MethodGet, "/api/v1/groups/1", nil, nil)
	if err != nil || got.status != 200 || !slices.Equal(*waits, []time.Duration{7 * time.Second, 5 * time.Second}) {
		t.Error(got, err, *waits)
	}
}

func TestItDoesNotWaitForEver(t *testing.T) {
	c, waits, _ := answering(t, saying(429, `{"error":{"code":"rate_limited","message":"Too many calls."}}`, "Retry-After", "60"))
	_, err := c.call(t.Context(), http.MethodGet, "/api/v1/groups/1", nil, nil)
	if err == nil || !strings.Contains(err.Error(), "rate_limited") || len(*waits) != 5 {
		t.Error(err, *waits)
	}
}

func TestALostAnswerIsAskedForOnceMoreUnderTheSameKey(t *testing.T) {
	c, _, keys := answering(t, cutOff, saying(201, `{"id":"1"}`))
	got, err := c.call(t.Context(), http.MethodPost, "/api/v1/groups", nil, object{"name": "Web"})
	if err != nil || got.status != 201 {
		t.Fatal(got, err)
	}
	if sent := slices.Compact(*keys); len(sent) != 1 || sent[0] == "" {
		t.Errorf("the keys were %v", *keys)
	}
	c, _, _ = answering(t, cutOff)
	if _, err := c.call(t.Context(), http.MethodPost, "/api/v1/groups", nil, object{}); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Error(err)
	}
}

func TestItFollowsNoRedirectAndReadsNothingElse(t *testing.T) {
	for words, answer := range map[string]http.HandlerFunc{
		"redirects elsewhere": saying(302, "", "Location", "https://elsewhere.example/"),
		"that is not JSON":    saying(200, "<html>"),
		"(group_not_found)":   saying(404, `{"error":{"code":"group_not_found","message":"There is no such group."}}`),
		"group_id: no UUID; limit: too many (validation_failed)": saying(422, `{"detail":[{"loc":["path","group_id"],"msg":"no UUID"},{"loc":["query","limit"],"msg":"too many"}]}`),
		"The service answered 500. (http_500)":                   saying(500, `{}`),
	} {
		c, _, _ := answering(t, answer)
		if _, err := c.call(t.Context(), http.MethodGet, "/", nil, nil); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("instead of %q it says %v", words, err)
		}
	}
}

func TestItWalksAllPagesAndAsksForOneOfSeveral(t *testing.T) {
	key := specOf(t, "ping_key")
	first := saying(200, `{"items":[{"id":"1","name":"Jobs","until":"2026-12-01"},{"id":"2","name":"Jobs","until":null}],"next_cursor":"more"}`)
	c, _, _ := answering(t, first, saying(200, `{"items":[{"id":"3","name":"Others","until":null}],"next_cursor":null}`))
	found, err := c.find(t.Context(), key, "name", "Jobs")
	if err != nil || found.id() != "2" {
		t.Error(found, err)
	}
	c, _, _ = answering(t, first, saying(200, `{"items":[{"id":"3","name":"Jobs","until":null}],"next_cursor":null}`))
	if _, err := c.find(t.Context(), key, "name", "Jobs"); err == nil || !strings.Contains(err.Error(), "such as 2 and 3") {
		t.Error(err)
	}
}

func TestTheTokenGoesInTheOpenToThisMachineAlone(t *testing.T) {
	for given, want := range map[string]string{
		"https://antipode.example/":           "https://antipode.example",
		"https://antipode.example/api/v1":     "https://antipode.example",
		"http://127.0.0.1:3000":               "http://127.0.0.1:3000",
		"http://[::1]:3000/":                  "http://[::1]:3000",
		"http://localhost":                    "http://localhost",
		"http://antipode.example":             "",
		"http://10.0.0.1":                     "",
		"https://ada:secret@antipode.example": "",
		"ftp://antipode.example":              "",
		"antipode.example":                    "",
		"":                                    "",
	} {
		got, err := checkedURL(given)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q becomes %q: %v", given, got, err)
		}
	}
}

func TestManyObjectsAreReadInFewCalls(t *testing.T) {
	group := specOf(t, "group")
	calls := map[string]int{}
	c, _, _ := answering(t, func(w http.ResponseWriter, r *http.Request) {
		calls[r.Method+" "+r.URL.Path]++
		if r.URL.Path == group.List {
			saying(200, `{"items":[{"id":"1","name":"Web"},{"id":"2","name":"Mail"}],"next_cursor":null}`)(w, r)
		} else {
			saying(200, `{"id":"1","name":"Web"}`)(w, r)
		}
	})
	name := func(id string) any {
		found, err := c.get(t.Context(), group, id)
		if err != nil {
			t.Fatal(err)
		}
		return found["name"]
	}
	for range fewReads + 30 {
		if got := name("1"); got != "Web" {
			t.Fatal(got)
		}
	}
	if calls["GET /api/v1/groups/1"] != fewReads || calls["GET /api/v1/groups"] != 1 {
		t.Errorf("the calls are %v", calls)
	}
	c.changed(group, "1", object{"id": "1", "name": "Pages"})
	c.changed(group, "2", nil)
	if one, other := name("1"), name("2"); one != "Pages" || other != nil {
		t.Errorf("after our changes there are %v and %v", one, other)
	}
}
