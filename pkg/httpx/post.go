package httpx

import (
	"net/http"

	"glossa/pkg/wire"
)

// Post returns the handler of a model operation whose request is a JSON body. See
// [Handle].
func Post[In, Req, Model any](
	table *wire.Table,
	translate func(in *In) (Req, error),
	open func(r *http.Request, in *In) (Model, error),
	answer func(w http.ResponseWriter, r *http.Request, call Call[In, Req, Model]) error,
) Handler {
	return Handle(Decode, table, translate, open, answer)
}

// Handle returns the handler of a model operation: it decodes the request with the table,
// translates it, opens the model and answers. Translation comes first because opening may
// take a while. Errors that answer returns name the keys of the table.
func Handle[In, Req, Model any](
	decode func(r *http.Request, table *wire.Table, in any) error,
	table *wire.Table,
	translate func(in *In) (Req, error),
	open func(r *http.Request, in *In) (Model, error),
	answer func(w http.ResponseWriter, r *http.Request, call Call[In, Req, Model]) error,
) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		call := Call[In, Req, Model]{In: new(In)}
		err := decode(r, table, call.In)
		if err != nil {
			return err
		}
		if call.Req, err = translate(call.In); err != nil {
			return err
		}
		if call.Model, err = open(r, call.In); err != nil {
			return err
		}
		return table.Rename(answer(w, r, call), call.In)
	}
}

// A Call is a request about to be answered.
type Call[In, Req, Model any] struct {
	In    *In   // the request as sent
	Req   Req   // the request as the model takes it
	Model Model // the model, or one of its capabilities
}

// Decode reads the body into in, which points to the struct of the table, and checks it.
func Decode(r *http.Request, table *wire.Table, in any) error {
	b, err := ReadBody(r)
	if err != nil {
		return err
	}
	return table.Decode(b, in)
}

// DecodeQuery reads the query string into in, which points to the struct of the table, and
// checks it.
func DecodeQuery(r *http.Request, table *wire.Table, in any) error {
	return table.DecodeQuery(r.URL.RawQuery, in)
}
