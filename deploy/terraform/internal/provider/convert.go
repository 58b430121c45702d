package provider

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// values are the attributes of one object by their names.
type values map[string]tftypes.Value

// toJSON is a value as the API takes it: what is null, or not known yet, is not mentioned.
func toJSON(s shape, value tftypes.Value) (any, error) {
	if value.IsNull() || !value.IsKnown() {
		return nil, nil
	}
	switch s.Type {
	case "boolean":
		return read[bool](value)
	case "integer", "number":
		number, err := read[*big.Float](value)
		if err != nil {
			return nil, err
		}
		return json.Number(number.Text('f', -1)), nil
	case "list", "set":
		items, err := read[[]tftypes.Value](value)
		if err != nil {
			return nil, err
		}
		list := make([]any, len(items))
		for at, item := range items {
			if list[at], err = toJSON(*s.Items, item); err != nil {
				return nil, err
			}
		}
		return list, nil
	case "map", "object":
		members, err := read[map[string]tftypes.Value](value)
		if err != nil {
			return nil, err
		}
		object := map[string]any{}
		for name, member := range members {
			inner, err := toJSON(s.member(name), member)
			if err != nil {
				return nil, err
			}
			if inner != nil {
				object[name] = inner
			}
		}
		return object, nil
	default:
		text, err := read[string](value)
		if err == nil && s.Type == "scalar" {
			return scalarOf(text), nil
		}
		return text, err
	}
}

// fromJSON is a value as an answer has it. Where the API takes one thing for a list of one, so do
// answers.
func fromJSON(s shape, answer any) (tftypes.Value, error) {
	kind := s.tfType()
	if answer == nil {
		return tftypes.NewValue(kind, nil), nil
	}
	switch s.Type {
	case "boolean":
		if is, ok := answer.(bool); ok {
			return tftypes.NewValue(kind, is), nil
		}
	case "integer", "number":
		// As exact as a number of a configuration.
		if number, _, err := big.ParseFloat(textOf(answer), 10, 512, big.ToNearestEven); err == nil {
			return tftypes.NewValue(kind, number), nil
		}
	case "list", "set":
		items, ok := answer.([]any)
		if !ok {
			items = []any{answer}
		}
		list := make([]tftypes.Value, len(items))
		for at, item := range items {
			value, err := fromJSON(*s.Items, item)
			if err != nil {
				return value, err
			}
			list[at] = value
		}
		return tftypes.NewValue(kind, list), nil
	case "map", "object":
		if object, ok := answer.(map[string]any); ok {
			members := values{}
			for _, name := range s.names(object) {
				value, err := fromJSON(s.member(name), object[name])
				if err != nil {
					return value, err
				}
				members[name] = value
			}
			return tftypes.NewValue(kind, map[string]tftypes.Value(members)), nil
		}
	case "scalar":
		return tftypes.NewValue(kind, scalarText(answer)), nil
	case "json":
		text, err := json.Marshal(answer)
		return tftypes.NewValue(kind, string(text)), err
	default:
		return tftypes.NewValue(kind, textOf(answer)), nil
	}
	return tftypes.NewValue(kind, nil),
		fmt.Errorf("the service answered %T where %s is expected", answer, s.Type)
}

// merged keeps what a configuration wrote as long as the service answers what it answered to that,
// however it writes it: secrets are hidden, tags are in small letters. The rest is as answered.
func merged(s shape, before tftypes.Value, answer, known any) (tftypes.Value, error) {
	if same(answer, known) {
		return before, nil
	}
	object, isObject := answer.(map[string]any)
	knownObject, wasObject := known.(map[string]any)
	if (s.Type != "object" && s.Type != "map") || !isObject || !wasObject || before.IsNull() {
		return fromJSON(s, answer)
	}
	written, err := read[map[string]tftypes.Value](before)
	if err != nil {
		return before, err
	}
	members := map[string]tftypes.Value{}
	for _, name := range s.names(object) {
		inner, ok := written[name]
		if !ok {
			inner = tftypes.NewValue(s.member(name).tfType(), nil)
		}
		members[name], err = merged(s.member(name), inner, object[name], knownObject[name])
		if err != nil {
			return before, err
		}
	}
	return tftypes.NewValue(s.tfType(), members), nil
}

func same(one, other any) bool { return reflect.DeepEqual(one, other) }

// member is the shape of one member of an object or a map.
func (s shape) member(name string) shape {
	if s.Items != nil {
		return *s.Items
	}
	for _, field := range s.Fields {
		if field.Name == name {
			return field.shape
		}
	}
	return shape{Type: "json"}
}

// names are the members that a value has: all fields of an object, those of the answer of a map.
func (s shape) names(answer map[string]any) []string {
	names := make([]string, 0, len(answer))
	if s.Type == "map" {
		for name := range answer {
			names = append(names, name)
		}
		return names
	}
	for _, field := range s.Fields {
		names = append(names, field.Name)
	}
	return names
}

func read[T any](value tftypes.Value) (T, error) {
	var into T
	err := value.As(&into)
	return into, err
}

func textOf(answer any) string {
	if text, ok := answer.(string); ok {
		return text
	}
	return quoted(answer)
}

// scalarOf reads 5, true or "5" as JSON does, and anything else as a text.
func scalarOf(text string) any {
	var value any
	if json.Unmarshal([]byte(text), &value) == nil {
		switch value.(type) {
		case bool, string:
			return value
		case float64:
			return json.Number(text)
		}
	}
	return text
}

// scalarText quotes a text only where it would be read as something else.
func scalarText(answer any) string {
	if text, ok := answer.(string); ok && scalarOf(text) == any(text) {
		return text
	}
	return quoted(answer)
}

func quoted(answer any) string {
	text, err := json.Marshal(answer)
	if err != nil {
		return fmt.Sprint(answer)
	}
	return string(text)
}
