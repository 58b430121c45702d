package provider

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// longestWait bounds what one call waits because the service says so.
	longestWait = 5 * time.Minute
	timeout     = 30 * time.Second
	mostBytes   = 64 << 20
)

// client makes calls of the API with one token.
type client struct {
	url, token, agent string
	http              *http.Client
	wait              func(context.Context, time.Duration) error
	listings          sync.Map
}

func newClient(address, token, version string) *client {
	return &client{
		url:   address,
		token: token,
		agent: "terraform-provider-antipode/" + version,
		http: &http.Client{
			Timeout: timeout,
			// A redirect would send the token to its target.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		wait: sleep,
	}
}

// refused is what the service refused, with the faults of each field where it names them.
type refused struct {
	status        int
	code, message string
	faults        []apiFault
}

type apiFault struct {
	Loc []any  `json:"loc"`
	Msg string `json:"msg"`
}

func (r *refused) Error() string { return fmt.Sprintf("%s (%s)", r.message, r.code) }

func (f apiFault) String() string {
	place := make([]string, 0, len(f.Loc))
	for _, step := range f.Loc[min(1, len(f.Loc)):] {
		place = append(place, textOf(step))
	}
	return strings.Join(place, ".") + ": " + f.Msg
}

type answer struct {
	status int
	body   any
}

// call makes one call. It waits as it is told where there were too many, and sends a call whose
// answer got lost once more: a POST has a key, under which it is done once.
func (c *client) call(
	ctx context.Context, method, path string, query url.Values, body any) (answer, error,
) {
	key := ""
	if method == http.MethodPost {
		key = rand.Text()
	}
	var waited time.Duration
	for lost := 0; ; {
		response, content, err := c.send(ctx, method, path, query, body, key)
		pause := time.Second
		switch {
		case err != nil && isLost(err) && lost == 0 && ctx.Err() == nil:
			lost++
		case err != nil:
			return answer{}, c.notReached(err)
		default:
			var again bool
			if pause, again = pauseOf(response, content); !again || waited+pause > longestWait {
				return c.read(response, content)
			}
		}
		if err := c.wait(ctx, pause); err != nil {
			return answer{}, err
		}
		waited += pause
	}
}

func (c *client) send(
	ctx context.Context, method, path string, query url.Values, body any, key string,
) (*http.Response, []byte, error) {
	address := c.url + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, nil, err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, address, content)
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", c.agent)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, mostBytes))
	return response, text, err
}

// isLost says whether the call may have arrived: one that found no server did not.
func isLost(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.As(err, &timeout) && timeout.Timeout()
}

// pauseOf says how long to wait before the call is made again, and whether it is to be.
func pauseOf(response *http.Response, content []byte) (time.Duration, bool) {
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0, false
	}
	busy := response.StatusCode == http.StatusConflict &&
		bytes.Contains(content, []byte(`"idempotency_key_in_use"`))
	again := busy || response.StatusCode == http.StatusTooManyRequests ||
		response.StatusCode == http.StatusServiceUnavailable
	return max(time.Duration(seconds)*time.Second, time.Second), again
}

func (c *client) read(response *http.Response, content []byte) (answer, error) {
	status := response.StatusCode
	if status >= 300 && status < 400 {
		return answer{}, fmt.Errorf(
			"%s redirects elsewhere. Set url to the address of the service itself", c.url)
	}
	var body any
	if len(content) > 0 {
		decoder := json.NewDecoder(bytes.NewReader(content))
		decoder.UseNumber()
		if err := decoder.Decode(&body); err != nil {
			return answer{}, fmt.Errorf(
				"%s answers %d with something that is not JSON. Is it the address of Antipode?",
				c.url, status)
		}
	}
	if status < 300 {
		return answer{status, body}, nil
	}
	var told struct {
		Error  struct{ Code, Message string }
		Detail []apiFault
	}
	if err := json.Unmarshal(content, &told); err != nil || told.Error.Message == "" {
		told.Error.Message = fmt.Sprintf("The service answered %d.", status)
	}
	if len(told.Detail) > 0 {
		told.Error.Code, told.Error.Message = "validation_failed", joined(told.Detail)
	}
	if told.Error.Code == "" {
		told.Error.Code = fmt.Sprintf("http_%d", status)
	}
	return answer{}, &refused{status, told.Error.Code, told.Error.Message, told.Detail}
}

func joined(faults []apiFault) string {
	words := make([]string, len(faults))
	for at, fault := range faults {
		words[at] = fault.String()
	}
	return strings.Join(words, "; ")
}

func (c *client) notReached(err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	return fmt.Errorf("%s cannot be reached: %w", c.url, err)
}

func sleep(ctx context.Context, pause time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}
