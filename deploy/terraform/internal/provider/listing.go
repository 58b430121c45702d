package provider

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"sync"
)

// fewReads are the objects of a kind that are read one by one. Beyond them all are listed at once:
// a plan of hundreds of monitors would otherwise wait for the rate limit.
const fewReads = 20

// listing is a list as it was read, with our own changes since. One process reads for one plan or
// one apply.
type listing struct {
	sync.Mutex
	reads   int
	isRead  bool
	objects []object
}

func (c *client) listingOf(s spec) *listing {
	of, _ := c.listings.LoadOrStore(s.Name, &listing{})
	return of.(*listing)
}

// readsMany counts the reads of a kind of object, and says whether a list is better.
func (c *client) readsMany(s spec) bool {
	l := c.listingOf(s)
	l.Lock()
	defer l.Unlock()
	l.reads++
	return s.ListedWhole && (l.isRead || l.reads > fewReads)
}

// listed are the objects among which one with a value is, if there is one.
func (c *client) listed(ctx context.Context, s spec, field, value string) ([]object, error) {
	if slices.Contains(s.Filters, field) && !c.readsMany(s) {
		return c.walk(ctx, s, url.Values{field: {value}})
	}
	l := c.listingOf(s)
	l.Lock()
	defer l.Unlock()
	if !l.isRead {
		objects, err := c.walk(ctx, s, url.Values{})
		if err != nil {
			return nil, err
		}
		l.objects, l.isRead = objects, true
	}
	return slices.Clone(l.objects), nil
}

// changed notes what we did to an object; nil deleted it.
func (c *client) changed(s spec, id string, now object) {
	l := c.listingOf(s)
	l.Lock()
	defer l.Unlock()
	l.objects = slices.DeleteFunc(l.objects, func(one object) bool { return one.id() == id })
	if now != nil {
		l.objects = append(l.objects, now)
	}
}

func (c *client) walk(ctx context.Context, s spec, query url.Values) ([]object, error) {
	query.Set("limit", "200")
	var all []object
	for {
		answer, err := c.call(ctx, http.MethodGet, s.List, query, nil)
		if err != nil {
			return nil, err
		}
		page, err := objectOf(answer.body)
		if err != nil {
			return nil, err
		}
		items, _ := page["items"].([]any)
		for _, item := range items {
			one, err := objectOf(item)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		next, more := page["next_cursor"].(string)
		if !more {
			return all, nil
		}
		query.Set("cursor", next)
	}
}
