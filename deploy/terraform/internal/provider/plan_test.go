package provider

import (
	"reflect"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// configOf is a configuration: what it does not have is null.
func configOf(t *testing.T, s spec, given map[string]string) values {
	t.Helper()
	config := values{}
	for _, a := range s.managed() {
		config[a.Name] = tftypes.NewValue(a.tfType(), nil)
		if text, ok := given[a.Name]; ok {
			config[a.Name] = valueOf(t, a.shape, text)
		}
	}
	return config
}

func TestANewObjectHasItsDefaults(t *testing.T) {
	monitor := specOf(t, "monitor")
	plan, replaced, err := planned(monitor, configOf(t, monitor, map[string]string{"https": `{}`}), nil)
	if err != nil || replaced != nil {
		t.Fatal(replaced, err)
	}
	for name, want := range map[string]string{"enabled": "true", "affects_group_status": "true", "tags": "[]", "type": `"https"`, "group": "null"} {
		if got := textIn(t, monitor.attribute(t, name).shape, plan[name]); got != want {
			t.Errorf("%s is %s instead of %s", name, got, want)
		}
	}
	for _, name := range []string{"id", "name", "interval_s", "created_at"} {
		if plan[name].IsKnown() {
			t.Errorf("%s is known before there is a monitor", name)
		}
	}
}

func TestAChangeKeepsWhatTheServiceChose(t *testing.T) {
	page := specOf(t, "status_page")
	config := configOf(t, page, map[string]string{"name": `"Shop"`, "slug": `"shop"`})
	before, _, err := refreshed(page, values{}, parsed(t, `{"id":"1","name":"Shop","slug":"shop","access":"link","enabled":true,
		"language":"en","created_at":"2026","domain":null,"monitors":[],"groups":[]}`).(map[string]any), nil)
	if err != nil {
		t.Fatal(err)
	}
	plan, replaced, err := planned(page, config, before)
	if err != nil || replaced != nil {
		t.Fatal(replaced, err)
	}
	body, err := changeBody(page, plan, before)
	if want := (object{"access": "public"}); err != nil || !reflect.DeepEqual(body, want) {
		t.Errorf("%v is sent instead of %v: %v", body, want, err)
	}
	if !plan["id"].Equal(before["id"]) || plan["domain_record_name"].IsKnown() {
		t.Error("an id changes, or the record of a domain is known before the change")
	}
}

func TestWhatIsLeftOutIsTakenAway(t *testing.T) {
	monitor := specOf(t, "monitor")
	before := configOf(t, monitor, map[string]string{"type": `"https"`, "https": `{"method":"HEAD"}`, "group": `"g"`,
		"external_id": `"e"`, "tags": `["a"]`, "enabled": "false", "depends_on_monitors": `["m"]`, "depends_on_groups": `["g"]`})
	plan, _, err := planned(monitor, configOf(t, monitor, map[string]string{"https": `{}`}), before)
	if err != nil {
		t.Fatal(err)
	}
	body, err := changeBody(monitor, plan, before)
	want := `{"affects_group_status":true,"config":{},"depends_on_groups":[],"depends_on_monitors":[],"enabled":true,"external_id":"","tags":[],"ungroup":true}`
	if got := quoted(map[string]any(body)); err != nil || got != want {
		t.Errorf("%s is sent instead of %s: %v", got, want, err)
	}
}

func TestAnotherFormIsAnotherObject(t *testing.T) {
	monitor := specOf(t, "monitor")
	before := configOf(t, monitor, map[string]string{"type": `"tcp"`, "tcp": `{}`})
	_, replaced, err := planned(monitor, configOf(t, monitor, map[string]string{"tls": `{}`}), before)
	if err != nil || !reflect.DeepEqual(replaced, []string{"type"}) {
		t.Error(replaced, err)
	}
}

func TestAnAnswerThatWasNotAskedForIsStillNoticed(t *testing.T) {
	group := specOf(t, "group")
	last := known{"name": "Web", "description": "Ours", "external_id": nil}
	plan := configOf(t, group, map[string]string{"id": `"1"`, "created_at": `"2026"`, "name": `"Pages"`, "description": `"Ours"`})
	theirs := object{"id": "1", "name": "Pages", "description": "Theirs", "external_id": nil, "created_at": "2026"}
	state, now, err := written(group, plan, theirs, last, func(a attribute) bool { return a.Name == "name" })
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := refreshed(group, state, theirs, now)
	if got := textIn(t, shape{Type: "string"}, again["description"]); err != nil || got != `"Theirs"` {
		t.Errorf("the description is %s: %v", got, err)
	}
}

func TestAHiddenValueStaysUntilItIsLost(t *testing.T) {
	page := specOf(t, "status_page")
	before := configOf(t, page, map[string]string{"password": `"a long password"`})
	answer := func(has bool) object { return object{"has_password": has, "monitors": []any{}, "groups": []any{}} }
	for has, want := range map[bool]string{true: `"a long password"`, false: "null"} {
		state, _, err := refreshed(page, before, answer(has), known{"password": true})
		if got := textIn(t, shape{Type: "string"}, state["password"]); err != nil || got != want {
			t.Errorf("where has_password is %v there is %s: %v", has, got, err)
		}
	}
}

func TestRefusalsNameTheirAttribute(t *testing.T) {
	monitor := specOf(t, "monitor")
	for loc, want := range map[string]string{
		`["body","config","json",0,"path"]`: "https.json[0].path",
		`["body","config","headers","A"]`:   `https.headers["A"]`,
		`["body","interval_s"]`:             "interval_s",
		`["body","nothing"]`:                "",
		`["query","limit"]`:                 "",
	} {
		var steps []any
		for _, step := range parsed(t, loc).([]any) {
			if step == parsed(t, "0") {
				step = float64(0)
			}
			steps = append(steps, step)
		}
		if got := pathOf(monitor, "https", steps).String(); got != want {
			t.Errorf("%s is at %q instead of %q", loc, got, want)
		}
	}
	for message, want := range map[string]string{
		"`timeout_ms` cannot be used: stay below": "https.timeout_ms",
		"config.method must be one of them":       "https.method",
		"target: give an address":                 "target",
		"There is no such group":                  "group",
	} {
		refusal := &refused{code: "group_not_found", message: message}
		if got := placeOf(monitor, "https", refusal).String(); got != want {
			t.Errorf("%s is at %q instead of %q", message, got, want)
		}
	}
}
