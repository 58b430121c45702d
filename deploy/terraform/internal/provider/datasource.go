package provider

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// foundObject is the data source of every kind of object. What answers hide, it has hidden.
type foundObject struct {
	spec   spec
	client *client
}

var (
	_ datasource.DataSourceWithConfigure      = &foundObject{}
	_ datasource.DataSourceWithValidateConfig = &foundObject{}
)

func (f *foundObject) Metadata(
	_ context.Context, request datasource.MetadataRequest, response *datasource.MetadataResponse,
) {
	response.TypeName = request.ProviderTypeName + "_" + f.spec.Name
}

func (f *foundObject) Schema(
	_ context.Context, _ datasource.SchemaRequest, response *datasource.SchemaResponse,
) {
	attributes := map[string]schema.Attribute{}
	for _, a := range f.spec.readable() {
		attributes[a.Name] = dataAttribute(a, f.spec.has(a.Name))
	}
	response.Schema = schema.Schema{
		MarkdownDescription: "A " + words(f.spec) + " that exists, by one of " + f.lookups() + ".",
		Attributes:          attributes,
	}
}

func (f *foundObject) Configure(
	_ context.Context, request datasource.ConfigureRequest, _ *datasource.ConfigureResponse,
) {
	f.client, _ = request.ProviderData.(*client)
}

func (f *foundObject) ValidateConfig(
	_ context.Context, request datasource.ValidateConfigRequest, response *datasource.ValidateConfigResponse,
) {
	config, err := read[map[string]tftypes.Value](request.Config.Raw)
	if failed(&response.Diagnostics, "read the configuration", err) {
		return
	}
	if given := f.given(config); len(given) != 1 {
		response.Diagnostics.AddError("Invalid configuration", "Give exactly one of "+f.lookups()+".")
	}
}

func (f *foundObject) Read(
	ctx context.Context, request datasource.ReadRequest, response *datasource.ReadResponse,
) {
	config, err := read[map[string]tftypes.Value](request.Config.Raw)
	if failed(&response.Diagnostics, "read the configuration", err) {
		return
	}
	field := f.given(config)[0]
	value, err := read[string](config[field])
	if failed(&response.Diagnostics, "read the configuration", err) {
		return
	}
	found, err := f.client.find(ctx, f.spec, field, value)
	if err == nil && found == nil {
		err = fmt.Errorf("there is no %s with the %s %q", words(f.spec), field, value)
	}
	if failed(&response.Diagnostics, "find the "+words(f.spec), err) {
		return
	}
	state := values{}
	for _, a := range f.spec.readable() {
		state[a.Name], err = fromJSON(a.shape, f.spec.answered(a, found))
		if failed(&response.Diagnostics, "read "+a.Name, err) {
			return
		}
	}
	response.State.Raw = raw(request.Config.Raw.Type(), state)
}

// given are the fields by which a configuration looks the object up.
func (f *foundObject) given(config values) []string {
	var given []string
	for _, a := range f.spec.readable() {
		if f.spec.has(a.Name) && !config[a.Name].IsNull() {
			given = append(given, a.Name)
		}
	}
	return given
}

func (f *foundObject) lookups() string {
	return strings.Join(append([]string{"id"}, f.spec.Lookup...), ", ")
}
