package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/attr"
	data "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// resourceAttribute is an attribute as the framework has it. What is left out may get a default or
// the choice of the service, so that it is computed too.
func resourceAttribute(a attribute) schema.Attribute {
	required := a.Use == "required"
	optional := a.Use == "optional"
	computed := a.Use == "computed" || a.Chosen || a.Default != nil
	words, secret := a.Description, a.Sensitive
	switch a.Type {
	case "boolean":
		return schema.BoolAttribute{
			MarkdownDescription: words,
			Required:            required,
			Optional:            optional,
			Computed:            computed,
			Sensitive:           secret,
		}
	case "integer":
		return schema.Int64Attribute{
			MarkdownDescription: words,
			Required:            required,
			Optional:            optional,
			Computed:            computed,
			Sensitive:           secret,
		}
	case "number":
		return schema.NumberAttribute{
			MarkdownDescription: words,
			Required:            required,
			Optional:            optional,
			Computed:            computed,
			Sensitive:           secret,
		}
	case "set":
		return schema.SetAttribute{
			ElementType:         a.Items.attrType(),
			MarkdownDescription: words,
			Required:            required,
			Optional:            optional,
			Computed:            computed,
			Sensitive:           secret,
		}
	case "map":
		return schema.MapAttribute{
			ElementType:         a.Items.attrType(),
			MarkdownDescription: words,
			Required:            required,
			Optional:            optional,
			Computed:            computed,
			Sensitive:           secret,
		}
	case "object":
		return schema.SingleNestedAttribute{
			Attributes:          members(a.shape),
			MarkdownDescription: words,
			Required:            required,
			Optional:            optional,
			Computed:            computed,
			Sensitive:           secret,
		}
	case "list":
		if a.Items.Type == "object" {
			nested := schema.NestedAttributeObject{Attributes: members(*a.Items)}
			return schema.ListNestedAttribute{
				NestedObject:        nested,
				MarkdownDescription: words,
				Required:            required,
				Optional:            optional,
				Computed:            computed,
				Sensitive:           secret,
			}
		}
		return schema.ListAttribute{
			ElementType:         a.Items.attrType(),
			MarkdownDescription: words,
			Required:            required,
			Optional:            optional,
			Computed:            computed,
			Sensitive:           secret,
		}
	default:
		return schema.StringAttribute{
			MarkdownDescription: words,
			Required:            required,
			Optional:            optional,
			Computed:            computed,
			Sensitive:           secret,
		}
	}
}

func members(s shape) map[string]schema.Attribute {
	attributes := map[string]schema.Attribute{}
	for _, field := range s.Fields {
		attributes[field.Name] = resourceAttribute(field)
	}
	return attributes
}

// dataAttribute is an attribute of a data source: all are answers, but for what it is found by.
func dataAttribute(a attribute, isLookup bool) data.Attribute {
	words, secret := a.Description, a.Sensitive
	switch a.Type {
	case "boolean":
		return data.BoolAttribute{
			MarkdownDescription: words,
			Computed:            true,
			Sensitive:           secret,
		}
	case "integer":
		return data.Int64Attribute{
			MarkdownDescription: words,
			Computed:            true,
			Sensitive:           secret,
		}
	case "number":
		return data.NumberAttribute{
			MarkdownDescription: words,
			Computed:            true,
			Sensitive:           secret,
		}
	case "set":
		return data.SetAttribute{
			ElementType:         a.Items.attrType(),
			MarkdownDescription: words,
			Computed:            true,
			Sensitive:           secret,
		}
	case "map":
		return data.MapAttribute{
			ElementType:         a.Items.attrType(),
			MarkdownDescription: words,
			Computed:            true,
			Sensitive:           secret,
		}
	case "list":
		return data.ListAttribute{
			ElementType:         a.Items.attrType(),
			MarkdownDescription: words,
			Computed:            true,
			Sensitive:           secret,
		}
	case "object":
		return data.ObjectAttribute{
			AttributeTypes:      a.attrTypes(),
			MarkdownDescription: words,
			Computed:            true,
			Sensitive:           secret,
		}
	default:
		return data.StringAttribute{
			MarkdownDescription: words,
			Optional:            isLookup,
			Computed:            true,
			Sensitive:           secret,
		}
	}
}

func (s shape) attrType() attr.Type {
	switch s.Type {
	case "boolean":
		return types.BoolType
	case "integer":
		return types.Int64Type
	case "number":
		return types.NumberType
	case "list":
		return types.ListType{ElemType: s.Items.attrType()}
	case "set":
		return types.SetType{ElemType: s.Items.attrType()}
	case "map":
		return types.MapType{ElemType: s.Items.attrType()}
	case "object":
		return types.ObjectType{AttrTypes: s.attrTypes()}
	default:
		return types.StringType
	}
}

func (s shape) attrTypes() map[string]attr.Type {
	fields := map[string]attr.Type{}
	for _, field := range s.Fields {
		fields[field.Name] = field.attrType()
	}
	return fields
}
