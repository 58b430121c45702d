package provider

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// planned is what an object is to be: what the configuration says, the defaults of what it leaves
// out, and what there is where the service chooses. Before is nil for a new object. The second
// result names what only a new object can have.
func planned(s spec, config, before values) (values, []string, error) {
	plan := values{}
	changes := before == nil
	for _, a := range s.managed() {
		value, err := plannedAttribute(s, a, config, before)
		if err != nil {
			return nil, nil, err
		}
		plan[a.Name] = value
		if before != nil && !value.Equal(before[a.Name]) {
			changes = true
		}
	}
	var replaced []string
	for _, a := range s.managed() {
		isAnswer := a.Use == "computed" && !s.isBy(a)
		if isAnswer && (before == nil || changes && !a.Stable) {
			plan[a.Name] = unknown(a.shape)
		}
		if a.Replace && before != nil && !plan[a.Name].Equal(before[a.Name]) {
			replaced = append(replaced, a.Name)
		}
	}
	return plan, replaced, nil
}

func plannedAttribute(s spec, a attribute, config, before values) (tftypes.Value, error) {
	given := config[a.Name]
	switch {
	case s.isBy(a):
		return formOf(s, config), nil
	case a.Use != "computed" && !given.IsNull():
		return given, nil
	case a.Default != nil:
		return fromJSON(a.shape, a.Default)
	case a.Use == "computed" || a.Chosen:
		if before == nil {
			return unknown(a.shape), nil
		}
		return before[a.Name], nil
	default:
		return given, nil
	}
}

// formOf is the form of the union that a configuration chooses.
func formOf(s spec, config values) tftypes.Value {
	for _, a := range s.Attributes {
		if a.Of != "" && !config[a.Name].IsNull() {
			if !config[a.Name].IsKnown() {
				return unknown(shape{Type: "string"})
			}
			return tftypes.NewValue(tftypes.String, a.Of)
		}
	}
	return tftypes.NewValue(tftypes.String, nil)
}

func unknown(s shape) tftypes.Value { return tftypes.NewValue(s.tfType(), tftypes.UnknownValue) }

// fault is what is wrong with a configuration, and where.
type fault struct {
	at    path.Path
	words string
}

// faultsOf are the faults of a configuration that need no service to be found.
func faultsOf(s spec, config values) ([]fault, error) {
	var faults []fault
	forms, known, names := 0, true, []string{}
	for _, a := range s.managed() {
		value := config[a.Name]
		if a.Of != "" {
			names = append(names, a.Name)
			known = known && value.IsKnown()
			if !value.IsNull() {
				forms++
			}
		}
		found, err := limitFaults(a.shape, path.Root(a.Name), value)
		if err != nil {
			return nil, err
		}
		faults = append(faults, found...)
	}
	if s.Union != nil && known && forms != 1 {
		faults = append(faults, fault{path.Empty(), fmt.Sprintf(
			"Give exactly one of %s: it says what the %s is.", strings.Join(names, ", "), words(s))})
	}
	return faults, nil
}

// limitFaults compares a value with the limits of the API document.
func limitFaults(s shape, at path.Path, value tftypes.Value) ([]fault, error) {
	if value.IsNull() || !value.IsKnown() {
		return nil, nil
	}
	answer, err := toJSON(s, value)
	if err != nil {
		return nil, err
	}
	switch s.Type {
	case "object":
		members, err := read[map[string]tftypes.Value](value)
		if err != nil {
			return nil, err
		}
		var faults []fault
		for _, field := range s.Fields {
			found, err := limitFaults(field.shape, at.AtName(field.Name), members[field.Name])
			if err != nil {
				return nil, err
			}
			faults = append(faults, found...)
		}
		return faults, nil
	case "list":
		items, err := read[[]tftypes.Value](value)
		if err != nil {
			return nil, err
		}
		var faults []fault
		for index, item := range items {
			found, err := limitFaults(*s.Items, at.AtListIndex(index), item)
			if err != nil {
				return nil, err
			}
			faults = append(faults, found...)
		}
		return faults, nil
	}
	return s.outside(at, textOf(answer)), nil
}

func (s shape) outside(at path.Path, text string) []fault {
	if len(s.Enum) > 0 {
		for _, allowed := range s.Enum {
			if allowed == text {
				return nil
			}
		}
		return []fault{{at, fmt.Sprintf("%q is none of %s.", text, strings.Join(s.Enum, ", "))}}
	}
	var number float64
	if s.Minimum == nil && s.Maximum == nil {
		return nil
	}
	if _, err := fmt.Sscan(text, &number); err != nil {
		return nil
	}
	if s.Minimum != nil && number < *s.Minimum {
		return []fault{{at, fmt.Sprintf("%s is less than %v.", text, *s.Minimum)}}
	}
	if s.Maximum != nil && number > *s.Maximum {
		return []fault{{at, fmt.Sprintf("%s is more than %v.", text, *s.Maximum)}}
	}
	return nil
}

// words are the name of a kind of object as one reads it.
func words(s spec) string { return strings.ReplaceAll(s.Name, "_", " ") }
