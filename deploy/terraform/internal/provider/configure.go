// Package provider makes Terraform's resources and data sources of the API document's objects.
package provider

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

const version = "1.0.0"

type antipode struct {
	specs []spec
	fault error
}

// New is the provider.
func New() provider.Provider {
	specs, err := specs()
	return &antipode{specs, err}
}

type settings struct {
	URL   types.String `tfsdk:"url"`
	Token types.String `tfsdk:"token"`
}

func (a *antipode) Metadata(
	_ context.Context, _ provider.MetadataRequest, response *provider.MetadataResponse,
) {
	response.TypeName = "antipode"
	response.Version = version
}

func (a *antipode) Schema(
	_ context.Context, _ provider.SchemaRequest, response *provider.SchemaResponse,
) {
	failed(&response.Diagnostics, "read the provider's own schema", a.fault)
	response.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"url": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "The address of the service, such as `https://antipode.example`; " +
				"without it `ANTIPODE_URL`.",
		},
		"token": schema.StringAttribute{
			Optional:            true,
			Sensitive:           true,
			MarkdownDescription: "An API token that may write; without it `ANTIPODE_TOKEN`.",
		},
	}}
}

func (a *antipode) Configure(
	ctx context.Context, request provider.ConfigureRequest, response *provider.ConfigureResponse,
) {
	var given settings
	response.Diagnostics.Append(request.Config.Get(ctx, &given)...)
	if response.Diagnostics.HasError() {
		return
	}
	address, err := checkedURL(setting(&response.Diagnostics, "url", given.URL, "ANTIPODE_URL"))
	atSetting(&response.Diagnostics, "url", err)
	token, err := checkedToken(setting(&response.Diagnostics, "token", given.Token, "ANTIPODE_TOKEN"))
	atSetting(&response.Diagnostics, "token", err)
	if !response.Diagnostics.HasError() {
		client := newClient(address, token, version)
		response.ResourceData, response.DataSourceData = client, client
	}
}

func (a *antipode) Resources(context.Context) []func() resource.Resource {
	var all []func() resource.Resource
	for _, s := range a.specs {
		all = append(all, func() resource.Resource { return &managedObject{spec: s} })
	}
	return all
}

func (a *antipode) DataSources(context.Context) []func() datasource.DataSource {
	var all []func() datasource.DataSource
	for _, s := range a.specs {
		all = append(all, func() datasource.DataSource { return &foundObject{spec: s} })
	}
	return all
}

func setting(
	diagnostics *diag.Diagnostics, name string, given types.String, variable string,
) string {
	if given.IsUnknown() {
		diagnostics.AddAttributeError(path.Root(name), "Value not known yet",
			"Set "+name+" to what is known before anything is created, or set "+variable+".")
	}
	if given.ValueString() != "" {
		return given.ValueString()
	}
	return os.Getenv(variable)
}

func atSetting(diagnostics *diag.Diagnostics, name string, err error) {
	if err != nil {
		diagnostics.AddAttributeError(path.Root(name), "Invalid provider configuration", err.Error())
	}
}

// checkedURL is the address without a slash at its end. The token travels in the open to this
// machine alone.
func checkedURL(text string) (string, error) {
	if text == "" {
		return "", errors.New("Where is the service? Set url or ANTIPODE_URL to its address.")
	}
	address, err := url.Parse(text)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return "", errors.New("The address of the service is not one like https://antipode.example.")
	}
	if address.User != nil {
		return "", errors.New("The address of the service must not hold a user name or password.")
	}
	if address.Scheme == "http" && !isLocal(address.Hostname()) {
		return "", errors.New("The address of the service must begin with https://, " +
			"as the token would be sent in the open. Only this machine may be http://.")
	}
	place := strings.TrimRight(address.Scheme+"://"+address.Host+address.Path, "/")
	return strings.TrimSuffix(place, "/api/v1"), nil
}

func isLocal(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

var printable = regexp.MustCompile(`^[\x21-\x7e]+$`)

func checkedToken(text string) (string, error) {
	if text == "" {
		return "", errors.New("Who is calling? Set ANTIPODE_TOKEN, or token, to an API token that may write.")
	}
	if !printable.MatchString(text) {
		return "", errors.New("The token has characters that no token has. Copy it again.")
	}
	return text, nil
}
