package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// object is one object as the service answers it.
type object map[string]any

func (o object) id() string { return textOf(o["id"]) }

func (s spec) path(id string) string {
	return strings.ReplaceAll(s.One, "{id}", url.PathEscape(id))
}

// isGone says whether an object is as good as deleted: an invitation that expired, a key that ends.
func (s spec) isGone(o object) bool {
	if s.Gone == nil || o[s.Gone.Field] == nil {
		return false
	}
	return s.Gone.Is == "" || o[s.Gone.Field] == s.Gone.Is
}

// get is the object of an id; nil where there is none any more.
func (c *client) get(ctx context.Context, s spec, id string) (object, error) {
	if !s.CanGet || c.readsMany(s) {
		return c.one(ctx, s, "id", id)
	}
	answer, err := c.call(ctx, http.MethodGet, s.path(id), nil, nil)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return objectOf(answer.body)
}

// find is the one object whose field has a value; nil where there is none.
func (c *client) find(ctx context.Context, s spec, field, value string) (object, error) {
	if field == "id" {
		return c.get(ctx, s, value)
	}
	found, err := c.one(ctx, s, field, value)
	if err != nil || found == nil || s.ListedWhole {
		return found, err
	}
	return c.get(ctx, s, found.id())
}

// findImported is the object that an import names, by its id or by its external id.
func (c *client) findImported(ctx context.Context, s spec, name string) (object, error) {
	found, err := c.get(ctx, s, name)
	if found != nil || !s.has("external_id") || err != nil && !isMalformed(err) {
		return found, err
	}
	return c.find(ctx, s, "external_id", name)
}

// one is the object with this value among those that are listed.
func (c *client) one(ctx context.Context, s spec, field, value string) (object, error) {
	listed, err := c.listed(ctx, s, field, value)
	if err != nil {
		return nil, err
	}
	var found object
	for _, one := range listed {
		if s.isGone(one) || one[field] != value {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("several %ss have the %s %q, such as %s and %s. Use an id",
				words(s), field, value, found.id(), one.id())
		}
		found = one
	}
	return found, nil
}

func objectOf(body any) (object, error) {
	if one, ok := body.(map[string]any); ok {
		return one, nil
	}
	return nil, fmt.Errorf("the service answered %T where an object is expected", body)
}

func isMissing(err error) bool {
	var refusal *refused
	return errors.As(err, &refusal) && refusal.status == http.StatusNotFound
}

// isMalformed says whether a text is no id at all.
func isMalformed(err error) bool {
	var refusal *refused
	return errors.As(err, &refusal) && refusal.status == http.StatusUnprocessableEntity
}
