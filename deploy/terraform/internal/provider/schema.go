package provider

import (
	_ "embed"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

//go:embed schema.json
var schemaJSON []byte

// shape is a kind of value. A scalar is a text, a number or a boolean, written as a text; json is
// any object, as its text.
type shape struct {
	Type    string      `json:"type"`
	Items   *shape      `json:"items"`
	Fields  []attribute `json:"fields"`
	Enum    []string    `json:"enum"`
	Minimum *float64    `json:"minimum"`
	Maximum *float64    `json:"maximum"`
}

type attribute struct {
	shape
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Use         string         `json:"use"`
	Chosen      bool           `json:"chosen"`
	Default     any            `json:"default"`
	Sensitive   bool           `json:"sensitive"`
	Stable      bool           `json:"stable"`
	Replace     bool           `json:"replace"`
	Create      bool           `json:"create"`
	Update      bool           `json:"update"`
	At          []string       `json:"at"`
	As          string         `json:"as"`
	Hidden      bool           `json:"hidden"`
	Once        bool           `json:"once"`
	Clear       map[string]any `json:"clear"`
	Of          string         `json:"of"`
}

// spec is what the API document says of one kind of object. Where Union is set, the member By says
// which form Field has, and each form is an attribute.
type spec struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	List        string `json:"list"`
	One         string `json:"one"`
	CanGet      bool   `json:"canGet"`
	CanUpdate   bool   `json:"canUpdate"`
	ListedWhole bool   `json:"isListedWhole"`
	Lookup      []string
	Filters     []string
	Union       *struct{ Field, By string }
	Gone        *struct{ Field, Is string }
	Attributes  []attribute
}

func specs() ([]spec, error) {
	var read struct{ Resources []spec }
	err := json.Unmarshal(schemaJSON, &read)
	return read.Resources, err
}

func (s shape) tfType() tftypes.Type {
	switch s.Type {
	case "integer", "number":
		return tftypes.Number
	case "boolean":
		return tftypes.Bool
	case "list":
		return tftypes.List{ElementType: s.Items.tfType()}
	case "set":
		return tftypes.Set{ElementType: s.Items.tfType()}
	case "map":
		return tftypes.Map{ElementType: s.Items.tfType()}
	case "object":
		types := map[string]tftypes.Type{}
		for _, field := range s.Fields {
			types[field.Name] = field.tfType()
		}
		return tftypes.Object{AttributeTypes: types}
	default:
		return tftypes.String
	}
}

// managed are the attributes of a resource, readable those of a data source.
func (s spec) managed() []attribute {
	return s.filter(func(a attribute) bool { return a.Use != "data" })
}

func (s spec) readable() []attribute {
	return s.filter(func(a attribute) bool { return !a.Once && !a.Hidden })
}

func (s spec) filter(keep func(attribute) bool) []attribute {
	var kept []attribute
	for _, a := range s.Attributes {
		if keep(a) {
			kept = append(kept, a)
		}
	}
	return kept
}

func (s spec) isBy(a attribute) bool { return s.Union != nil && a.Name == s.Union.By }

// has says whether a data source can look objects up by a field.
func (s spec) has(lookup string) bool {
	for _, field := range s.Lookup {
		if field == lookup {
			return true
		}
	}
	return lookup == "id"
}
