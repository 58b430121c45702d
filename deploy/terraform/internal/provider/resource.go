package provider

import (
	"context"
	"fmt"
	"net/http"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// managedObject is the resource of every kind of object: what differs is in its spec.
type managedObject struct {
	spec   spec
	client *client
}

var (
	_ resource.ResourceWithConfigure      = &managedObject{}
	_ resource.ResourceWithImportState    = &managedObject{}
	_ resource.ResourceWithModifyPlan     = &managedObject{}
	_ resource.ResourceWithValidateConfig = &managedObject{}
)

func (m *managedObject) Metadata(
	_ context.Context, request resource.MetadataRequest, response *resource.MetadataResponse,
) {
	response.TypeName = request.ProviderTypeName + "_" + m.spec.Name
}

func (m *managedObject) Schema(
	_ context.Context, _ resource.SchemaRequest, response *resource.SchemaResponse,
) {
	attributes := map[string]schema.Attribute{}
	for _, a := range m.spec.managed() {
		attributes[a.Name] = resourceAttribute(a)
	}
	response.Schema = schema.Schema{MarkdownDescription: m.spec.Description, Attributes: attributes}
}

func (m *managedObject) Configure(
	_ context.Context, request resource.ConfigureRequest, _ *resource.ConfigureResponse,
) {
	m.client, _ = request.ProviderData.(*client)
}

func (m *managedObject) ValidateConfig(
	_ context.Context, request resource.ValidateConfigRequest, response *resource.ValidateConfigResponse,
) {
	config, err := read[map[string]tftypes.Value](request.Config.Raw)
	if failed(&response.Diagnostics, "read the configuration", err) {
		return
	}
	faults, err := faultsOf(m.spec, config)
	failed(&response.Diagnostics, "read the configuration", err)
	for _, fault := range faults {
		addFault(&response.Diagnostics, fault)
	}
}

func (m *managedObject) ModifyPlan(
	_ context.Context, request resource.ModifyPlanRequest, response *resource.ModifyPlanResponse,
) {
	if request.Plan.Raw.IsNull() {
		return
	}
	config, err := read[map[string]tftypes.Value](request.Config.Raw)
	var before map[string]tftypes.Value
	if err == nil && !request.State.Raw.IsNull() {
		before, err = read[map[string]tftypes.Value](request.State.Raw)
	}
	if failed(&response.Diagnostics, "plan", err) {
		return
	}
	plan, replaced, err := planned(m.spec, config, before)
	if failed(&response.Diagnostics, "plan", err) {
		return
	}
	response.Plan.Raw = raw(request.Plan.Raw.Type(), plan)
	for _, name := range replaced {
		response.RequiresReplace = append(response.RequiresReplace, path.Root(name))
	}
}

func (m *managedObject) Create(
	ctx context.Context, request resource.CreateRequest, response *resource.CreateResponse,
) {
	plan, err := read[map[string]tftypes.Value](request.Plan.Raw)
	if failed(&response.Diagnostics, "create", err) {
		return
	}
	made, err := m.create(ctx, plan)
	if m.refusedAs(&response.Diagnostics, "create", plan, err) {
		return
	}
	// The object exists: it is kept even where what follows fails.
	state, now, err := written(m.spec, plan, made, nil, isSent)
	if failed(&response.Diagnostics, "create", err) {
		return
	}
	response.State.Raw = raw(request.Plan.Raw.Type(), state)
	if m.spec.CanUpdate {
		var whole object
		whole, err = m.complete(ctx, plan, made)
		if err == nil {
			state, now, err = written(m.spec, plan, whole, nil, isSent)
		}
		if m.refusedAs(&response.Diagnostics, "create", plan, err) {
			return
		}
		for _, a := range m.spec.managed() {
			if a.Once {
				state[a.Name], err = fromJSON(a.shape, m.spec.answered(a, made))
				failed(&response.Diagnostics, "create", err)
			}
		}
		response.State.Raw = raw(request.Plan.Raw.Type(), state)
	}
	keep(ctx, &response.Diagnostics, response.Private, now)
}

// create refuses to take over what is there already: it may be managed elsewhere.
func (m *managedObject) create(ctx context.Context, plan values) (object, error) {
	body, err := createBody(m.spec, plan)
	if err != nil {
		return nil, err
	}
	if external, ok := body["external_id"].(string); ok {
		if there, err := m.client.find(ctx, m.spec, "external_id", external); err != nil || there != nil {
			return nil, m.existing(there, err)
		}
	}
	answer, err := m.client.call(ctx, http.MethodPost, m.spec.List, nil, body)
	if err != nil {
		return nil, err
	}
	made, err := objectOf(answer.body)
	if err != nil {
		return nil, err
	}
	m.client.changed(m.spec, made.id(), made)
	if answer.status == http.StatusOK {
		return nil, m.existing(made, nil)
	}
	return made, nil
}

func (m *managedObject) existing(there object, err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf(
		"there is such a %s already: %s. To manage it here, import it: tofu import antipode_%s.NAME %s",
		words(m.spec), textOf(there["name"]), m.spec.Name, there.id())
}

// complete sends what can only be changed, not created, where it differs from what was made.
func (m *managedObject) complete(ctx context.Context, plan values, made object) (object, error) {
	before, _, err := refreshed(m.spec, plan, made, nil)
	if err != nil {
		return nil, err
	}
	for _, a := range m.spec.managed() {
		if a.Create || !a.Update {
			before[a.Name] = plan[a.Name]
		}
	}
	whole, err := m.change(ctx, made.id(), plan, before)
	if whole == nil {
		whole = made
	}
	return whole, err
}

// change is nil where there is nothing to send.
func (m *managedObject) change(
	ctx context.Context, id string, plan, before values) (object, error,
) {
	body, err := changeBody(m.spec, plan, before)
	if err != nil || len(body) == 0 {
		return nil, err
	}
	answer, err := m.client.call(ctx, http.MethodPatch, m.spec.path(id), nil, body)
	if err != nil {
		return nil, err
	}
	changed, err := objectOf(answer.body)
	if err == nil {
		m.client.changed(m.spec, id, changed)
	}
	return changed, err
}

func (m *managedObject) Read(
	ctx context.Context, request resource.ReadRequest, response *resource.ReadResponse,
) {
	before, err := read[map[string]tftypes.Value](request.State.Raw)
	if failed(&response.Diagnostics, "read", err) {
		return
	}
	found, err := m.client.get(ctx, m.spec, idOf(before))
	if m.refusedAs(&response.Diagnostics, "read", before, err) {
		return
	}
	if found == nil || m.spec.isGone(found) {
		response.State.RemoveResource(ctx)
		return
	}
	last := lastKnown(ctx, &response.Diagnostics, request.Private)
	state, now, err := refreshed(m.spec, before, found, last)
	if failed(&response.Diagnostics, "read", err) {
		return
	}
	response.State.Raw = raw(request.State.Raw.Type(), state)
	keep(ctx, &response.Diagnostics, response.Private, now)
}

func (m *managedObject) Update(
	ctx context.Context, request resource.UpdateRequest, response *resource.UpdateResponse,
) {
	plan, err := read[map[string]tftypes.Value](request.Plan.Raw)
	if failed(&response.Diagnostics, "change", err) {
		return
	}
	before, err := read[map[string]tftypes.Value](request.State.Raw)
	if failed(&response.Diagnostics, "change", err) {
		return
	}
	now, err := m.change(ctx, idOf(before), plan, before)
	if err == nil && now == nil {
		now, err = m.client.get(ctx, m.spec, idOf(before))
	}
	if m.refusedAs(&response.Diagnostics, "change", plan, err) {
		return
	}
	last := lastKnown(ctx, &response.Diagnostics, request.Private)
	state, next, err := written(m.spec, plan, now, last, func(a attribute) bool {
		return !plan[a.Name].Equal(before[a.Name])
	})
	if failed(&response.Diagnostics, "change", err) {
		return
	}
	response.State.Raw = raw(request.Plan.Raw.Type(), state)
	keep(ctx, &response.Diagnostics, response.Private, next)
}

func (m *managedObject) Delete(
	ctx context.Context, request resource.DeleteRequest, response *resource.DeleteResponse,
) {
	before, err := read[map[string]tftypes.Value](request.State.Raw)
	if failed(&response.Diagnostics, "delete", err) {
		return
	}
	_, err = m.client.call(ctx, http.MethodDelete, m.spec.path(idOf(before)), nil, nil)
	if !isMissing(err) && m.refusedAs(&response.Diagnostics, "delete", before, err) {
		return
	}
	m.client.changed(m.spec, idOf(before), nil)
}

func (m *managedObject) ImportState(
	ctx context.Context, request resource.ImportStateRequest, response *resource.ImportStateResponse,
) {
	found, err := m.client.findImported(ctx, m.spec, request.ID)
	if err == nil && (found == nil || m.spec.isGone(found)) {
		err = fmt.Errorf("there is no %s %q. Import one by its %s", words(m.spec), request.ID, m.importedBy())
	}
	if !m.refusedAs(&response.Diagnostics, "import", nil, err) {
		response.Diagnostics.Append(response.State.SetAttribute(ctx, path.Root("id"), found.id())...)
	}
}

func (m *managedObject) importedBy() string {
	if m.spec.has("external_id") {
		return "id or external id"
	}
	return "id"
}

func isSent(attribute) bool { return true }

func idOf(state values) string {
	id, err := read[string](state["id"])
	if err != nil {
		return ""
	}
	return id
}

func raw(kind tftypes.Type, of values) tftypes.Value {
	return tftypes.NewValue(kind, map[string]tftypes.Value(of))
}
