package responses

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// defaultItems is OpenAI's number of items on a page.
const defaultItems = 20

// retrieveQuery is the query string of GET /v1/responses/{response_id}.
type retrieveQuery struct {
	Include string `json:"include[]"`
	Stream  string `json:"stream"`
}

// itemsQuery is the query string of GET /v1/responses/{response_id}/input_items.
type itemsQuery struct {
	Limit   *int   `json:"limit"`
	Order   string `json:"order"`
	After   string `json:"after"`
	Include string `json:"include[]"`
}

// itemList is a page of the items of a response.
type itemList struct {
	Object  string      `json:"object" doc:"always list" enum:"list"`
	Data    []inputEcho `json:"data" doc:"items, which are accepted unchanged as input"`
	FirstID *string     `json:"first_id" doc:"id of the first item of the page"`
	LastID  *string     `json:"last_id" doc:"id of the last one: the next page is after it"`
	HasMore bool        `json:"has_more" doc:"whether there is a next page"`
}

// inputEcho is an item as the model read it.
type inputEcho json.RawMessage

// MarshalJSON implements json.Marshaler.
func (i inputEcho) MarshalJSON() ([]byte, error) { return i, nil }

// JSONSchema implements [wire.Describer].
func (inputEcho) JSONSchema() *wire.Schema { return wire.AnyObject() }

// deletion is the answer to DELETE /v1/responses/{response_id}.
type deletion struct {
	ID      string `json:"id" doc:"id of the deleted response"`
	Object  string `json:"object" doc:"always response" enum:"response"`
	Deleted bool   `json:"deleted" doc:"always true"`
}

// stored returns the response that the path of a request names.
func (cfg Config) stored(r *http.Request) (document, error) {
	id := r.PathValue("response_id")
	d, _, ok, err := cfg.find(r.Context(), id)
	if err == nil && !ok {
		err = cfg.unknown(id)
	}
	return d, err
}

func (cfg Config) unknown(id string) error {
	if cfg.Store == nil {
		return llm.Errorf(noResponse, "Response with id '%.80s' not found: this server does not store responses.", id)
	}
	return llm.Errorf(noResponse, "Response with id '%.80s' not found.", id)
}

func (cfg Config) retrieve(w http.ResponseWriter, r *http.Request) error {
	var in retrieveQuery
	if err := httpx.DecodeQuery(r, retrieveTable, &in); err != nil {
		return err
	}
	d, err := cfg.stored(r)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, d.Response)
}

func (cfg Config) remove(w http.ResponseWriter, r *http.Request) error {
	id, ctx := r.PathValue("response_id"), r.Context()
	if cfg.Store == nil || !responseID.MatchString(id) {
		return cfg.unknown(id)
	}
	err := cfg.Store.Delete(ctx, cfg.owner(ctx), id)
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Code == llm.NotFound {
		return cfg.unknown(id)
	}
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, deletion{id, "response", true})
}

func (cfg Config) inputItems(w http.ResponseWriter, r *http.Request) error {
	var in itemsQuery
	if err := httpx.DecodeQuery(r, itemsTable, &in); err != nil {
		return err
	}
	d, err := cfg.stored(r)
	if err != nil {
		return err
	}
	page, err := in.page(d.Items)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, page)
}

// page returns the page of items that a query asks for.
func (in *itemsQuery) page(items []json.RawMessage) (*itemList, error) {
	if in.Order != "asc" {
		slices.Reverse(items)
	}
	if in.After != "" {
		at := slices.IndexFunc(items, func(raw json.RawMessage) bool { return idOf(raw) == in.After })
		if at < 0 {
			return nil, wire.Invalid("after", "no item of the response has this id")
		}
		items = items[at+1:]
	}
	n := min(len(items), or(in.Limit, defaultItems))
	page := &itemList{Object: "list", Data: make([]inputEcho, n), HasMore: n < len(items)}
	for i, raw := range items[:n] {
		page.Data[i] = inputEcho(raw)
	}
	if n > 0 {
		page.FirstID, page.LastID = new(idOf(items[0])), new(idOf(items[n-1]))
	}
	return page, nil
}
