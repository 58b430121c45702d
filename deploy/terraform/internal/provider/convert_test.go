package provider

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

func specOf(t *testing.T, name string) spec {
	t.Helper()
	all, err := specs()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("there is no %s", name)
	return spec{}
}

func (s spec) attribute(t *testing.T, name string) attribute {
	t.Helper()
	for _, a := range s.Attributes {
		if a.Name == name {
			return a
		}
	}
	t.Fatalf("no %s has %s", s.Name, name)
	return attribute{}
}

func parsed(t *testing.T, text string) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

func valueOf(t *testing.T, s shape, text string) tftypes.Value {
	t.Helper()
	value, err := fromJSON(s, parsed(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func textIn(t *testing.T, s shape, value tftypes.Value) string {
	t.Helper()
	answer, err := toJSON(s, value)
	if err != nil {
		t.Fatal(err)
	}
	return quoted(answer)
}

func TestWhatIsSentIsWhatIsAnswered(t *testing.T) {
	https := specOf(t, "monitor").attribute(t, "https").shape
	for given, sent := range map[string]string{
		`{}`:                                        `{}`,
		`{"timeout_ms":5000}`:                       `{"timeout_ms":5000}`,
		`{"timeout_ms":null}`:                       `{}`,
		`{"follow_redirects":true}`:                 `{"follow_redirects":true}`,
		`{"unknown_key":1}`:                         `{}`,
		`{"expected_status":[200,"3xx"]}`:           `{"expected_status":["200","3xx"]}`,
		`{"ip_family":4}`:                           `{"ip_family":"4"}`,
		`{"body_contains":"one"}`:                   `{"body_contains":["one"]}`,
		`{"body_contains":[]}`:                      `{"body_contains":[]}`,
		`{"headers":{"A":"b"}}`:                     `{"headers":{"A":"b"}}`,
		`{"json":[{"path":"$","gt":0.1}]}`:          `{"json":[{"gt":0.1,"path":"$"}]}`,
		`{"json":[{"path":"$","equals":7}]}`:        `{"json":[{"equals":7,"path":"$"}]}`,
		`{"json":[{"path":"$","equals":"7"}]}`:      `{"json":[{"equals":"7","path":"$"}]}`,
		`{"json":[{"path":"$","equals":true}]}`:     `{"json":[{"equals":true,"path":"$"}]}`,
		`{"json":[{"path":"$","equals":"ok"}]}`:     `{"json":[{"equals":"ok","path":"$"}]}`,
		`{"json":[{"path":"$","equals":"\"ok\""}]}`: `{"json":[{"equals":"\"ok\"","path":"$"}]}`,
	} {
		if got := textIn(t, https, valueOf(t, https, given)); got != sent {
			t.Errorf("%s is sent as %s instead of %s", given, got, sent)
		}
	}
}

func TestAnswersOfAnotherKindAreFaults(t *testing.T) {
	for kind, answer := range map[string]any{"boolean": "yes", "integer": "many", "object": "none", "map": true} {
		if _, err := fromJSON(shape{Type: kind, Items: &shape{Type: "string"}}, answer); err == nil {
			t.Errorf("%v is taken for a %s", answer, kind)
		}
	}
}

func TestWhatIsWrittenStaysAsLongAsTheAnswerDoes(t *testing.T) {
	https := specOf(t, "monitor").attribute(t, "https").shape
	written := valueOf(t, https, `{"bearer_token":"secret","timeout_ms":5000,"headers":{"X-Key":"k","Accept":"a"}}`)
	known := parsed(t, `{"bearer_token":"***","timeout_ms":5000,"headers":{"X-Key":"***","Accept":"a"}}`)
	for answer, want := range map[string]string{
		`{"bearer_token":"***","timeout_ms":5000,"headers":{"X-Key":"***","Accept":"a"}}`: `{"bearer_token":"secret","headers":{"Accept":"a","X-Key":"k"},"timeout_ms":5000}`,
		`{"bearer_token":"***","timeout_ms":4000,"headers":{"X-Key":"***","Accept":"b"}}`: `{"bearer_token":"secret","headers":{"Accept":"b","X-Key":"k"},"timeout_ms":4000}`,
		`{"timeout_ms":5000,"method":"HEAD"}`:                                             `{"method":"HEAD","timeout_ms":5000}`,
		`{"bearer_token":"***","timeout_ms":5000,"headers":{"Y":"***"}}`:                  `{"bearer_token":"secret","headers":{"Y":"***"},"timeout_ms":5000}`,
	} {
		value, err := merged(https, written, parsed(t, answer), known)
		if err != nil {
			t.Fatal(err)
		}
		if got := textIn(t, https, value); got != want {
			t.Errorf("after %s there is %s instead of %s", answer, got, want)
		}
	}
}
