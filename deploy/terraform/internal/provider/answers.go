package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// answered is what an answer says of an attribute, wherever it says so.
func (s spec) answered(a attribute, o object) any {
	if a.Of != "" && o[s.Union.By] != a.Of {
		return nil
	}
	at := a.At
	if len(at) == 0 {
		at = []string{a.Name}
	}
	var value any = map[string]any(o)
	for _, name := range at {
		inner, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = inner[name]
	}
	switch a.As {
	case "present":
		return value != nil
	case "rows":
		return rowsOf(o)
	}
	return value
}

// rowsOf is what a status page shows from top to bottom, as a change of it says it.
func rowsOf(o object) any {
	var rows []map[string]any
	for _, kind := range []string{"monitor", "group"} {
		items, _ := o[kind+"s"].([]any)
		for _, item := range items {
			if row, ok := item.(map[string]any); ok {
				rows = append(rows, map[string]any{
					kind: row[kind], "display_name": row["display_name"], "position": row["position"],
				})
			}
		}
	}
	slices.SortFunc(rows, func(one, other map[string]any) int {
		return integer(one["position"]) - integer(other["position"])
	})
	list := make([]any, len(rows))
	for at, row := range rows {
		delete(row, "position")
		list[at] = row
	}
	return list
}

// known is what the service last answered to what a configuration wrote, by attribute. It is kept
// beside the state: an answer that differs from it was changed by someone else.
type known map[string]any

// refreshed is the state after a look at the object. An import knows nothing yet.
func refreshed(s spec, before values, o object, last known) (values, known, error) {
	state, now := values{}, known{}
	for _, a := range s.managed() {
		answer := s.answered(a, o)
		value := before[a.Name]
		var err error
		switch {
		case a.Once:
		case a.Hidden && last == nil:
			value, err = fromJSON(a.shape, a.Default)
		case a.Hidden:
			if previous, ok := last[a.Name]; ok && !same(answer, previous) {
				value = tftypes.NewValue(a.tfType(), nil)
			}
		default:
			previous, ok := last[a.Name]
			if !ok || a.Use == "computed" {
				value, err = fromJSON(a.shape, answer)
			} else {
				value, err = merged(a.shape, value, answer, previous)
			}
		}
		if err != nil {
			return nil, nil, err
		}
		state[a.Name] = value
		if a.Use != "computed" {
			now[a.Name] = answer
		}
	}
	return state, now, nil
}

// written is the state after a change: what was planned, and what only the answer says. What was
// not sent keeps its last answer, so that a change by someone else in between is still noticed.
func written(
	s spec, plan values, o object, last known, sent func(attribute) bool) (values, known, error,
) {
	state, now := values{}, known{}
	for _, a := range s.managed() {
		answer := s.answered(a, o)
		value := plan[a.Name]
		if !value.IsFullyKnown() {
			var err error
			if value, err = fromJSON(a.shape, answer); err != nil {
				return nil, nil, err
			}
		}
		state[a.Name] = value
		if a.Use != "computed" {
			now[a.Name] = answer
			if previous, ok := last[a.Name]; ok && !sent(a) {
				now[a.Name] = previous
			}
		}
	}
	return state, now, nil
}

// knownKey is where the last answer lies beside the state. Its secrets are hidden, as in answers.
const knownKey = "answered"

type store interface {
	SetKey(context.Context, string, []byte) diag.Diagnostics
}

func keep(ctx context.Context, diagnostics *diag.Diagnostics, in store, now known) {
	text, err := json.Marshal(now)
	if !failed(diagnostics, "keep what was answered", err) {
		diagnostics.Append(in.SetKey(ctx, knownKey, text)...)
	}
}

type keeper interface {
	GetKey(context.Context, string) ([]byte, diag.Diagnostics)
}

func lastKnown(ctx context.Context, diagnostics *diag.Diagnostics, in keeper) known {
	text, found := in.GetKey(ctx, knownKey)
	diagnostics.Append(found...)
	if len(text) == 0 {
		return nil
	}
	var last known
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	failed(diagnostics, "read what was answered", decoder.Decode(&last))
	return last
}

// createBody is what creates an object as planned.
func createBody(s spec, plan values) (object, error) {
	body := object{}
	for _, a := range s.managed() {
		if !a.Create {
			continue
		}
		value, err := toJSON(a.shape, plan[a.Name])
		if err != nil {
			return nil, err
		}
		if value != nil {
			s.put(body, a, value)
		}
	}
	if s.Union != nil {
		by, err := toJSON(shape{Type: "string"}, plan[s.Union.By])
		if err != nil {
			return nil, err
		}
		body[s.Union.By] = by
	}
	return body, nil
}

// changeBody is what makes an object as planned, given what it is now.
func changeBody(s spec, plan, before values) (object, error) {
	body := object{}
	for _, a := range s.managed() {
		if !a.Update || plan[a.Name].Equal(before[a.Name]) {
			continue
		}
		value, err := toJSON(a.shape, plan[a.Name])
		if err != nil {
			return nil, err
		}
		if value != nil {
			s.put(body, a, value)
			continue
		}
		for name, fragment := range a.Clear {
			body[name] = fragment
		}
	}
	return body, nil
}

func (s spec) put(body object, a attribute, value any) {
	if a.Of != "" {
		body[s.Union.Field] = value
	} else {
		body[a.Name] = value
	}
}

func integer(value any) int {
	number := 0
	for _, digit := range textOf(value) {
		number = number*10 + int(digit-'0')
	}
	return number
}
