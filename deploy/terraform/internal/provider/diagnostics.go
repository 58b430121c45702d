package provider

import (
	"errors"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
)

// failed reports a fault that is not of the service. It says whether there was one.
func failed(diagnostics *diag.Diagnostics, act string, err error) bool {
	if err != nil {
		diagnostics.AddError("Cannot "+act, err.Error())
	}
	return err != nil
}

func addFault(diagnostics *diag.Diagnostics, f fault) {
	if len(f.at.Steps()) == 0 {
		diagnostics.AddError("Invalid configuration", f.words)
	} else {
		diagnostics.AddAttributeError(f.at, "Invalid value", f.words)
	}
}

// refusedAs reports what the service refused, at the attribute that it names.
func (m *managedObject) refusedAs(
	diagnostics *diag.Diagnostics, act string, of values, err error,
) bool {
	if err == nil {
		return false
	}
	title := "Cannot " + act + " the " + words(m.spec)
	var refusal *refused
	if !errors.As(err, &refusal) {
		diagnostics.AddError(title, err.Error())
		return true
	}
	form := ""
	if by, err := read[string](formOf(m.spec, of)); m.spec.Union != nil && err == nil {
		form = by
	}
	for _, fault := range refusal.faults {
		addRefusal(diagnostics, pathOf(m.spec, form, fault.Loc), title, fault.String())
	}
	if len(refusal.faults) == 0 {
		addRefusal(diagnostics, placeOf(m.spec, form, refusal), title, refusal.Error())
	}
	return true
}

func addRefusal(diagnostics *diag.Diagnostics, at path.Path, title, words string) {
	if len(at.Steps()) == 0 {
		diagnostics.AddError(title, words)
	} else {
		diagnostics.AddAttributeError(at, title, words)
	}
}

// pathOf is the attribute at which the API found a fault: "body", then keys and positions. Below a
// set, whose elements have no place, it is the set.
func pathOf(s spec, form string, loc []any) path.Path {
	if len(loc) < 2 || loc[0] != "body" {
		return path.Empty()
	}
	name := textOf(loc[1])
	if s.Union != nil && name == s.Union.Field {
		name = form
	}
	at, inside := path.Empty(), shape{Type: "object"}
	for _, a := range s.managed() {
		if a.Name == name {
			at, inside = path.Root(name), a.shape
		}
	}
	for _, step := range loc[2:] {
		number, isNumber := step.(float64)
		switch {
		case inside.Type == "object" && inside.hasMember(textOf(step)):
			at = at.AtName(textOf(step))
			inside = inside.member(textOf(step))
		case inside.Type == "list" && isNumber:
			at = at.AtListIndex(int(number))
			inside = *inside.Items
		case inside.Type == "map":
			return at.AtMapKey(textOf(step))
		default:
			return at
		}
	}
	return at
}

func (s shape) hasMember(name string) bool {
	for _, field := range s.Fields {
		if field.Name == name {
			return true
		}
	}
	return false
}

var namedKey = regexp.MustCompile("^(?:config\\.)?`?([a-z_0-9]+)`?[: ]")

// placeOf is the attribute of a refusal without faults: its sentence begins with a key of the
// config or an attribute, or its code with the name of one.
func placeOf(s spec, form string, refusal *refused) path.Path {
	if found := namedKey.FindStringSubmatch(refusal.message); found != nil {
		if at := pathOf(s, form, []any{"body", found[1]}); len(at.Steps()) > 0 {
			return at
		}
		if s.Union != nil {
			if at := pathOf(s, form, []any{"body", s.Union.Field, found[1]}); len(at.Steps()) > 1 {
				return at
			}
		}
	}
	for _, a := range s.managed() {
		if a.Use != "computed" && a.Of == "" && strings.HasPrefix(refusal.code, a.Name+"_") {
			return path.Root(a.Name)
		}
	}
	return path.Empty()
}
