package host

import (
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/aws/aws-lambda-go/lambda/messages"
)

const internalError = "internal error"

// serve runs the handler and stops its panics. Before the first bytes have left a panic becomes a 500; after them it
// becomes the writer's error, to end the stream with an error trailer.
func (a *Adapter) serve(w *writer, r *http.Request) {
	returned := false
	defer func() {
		value := recover() // nil where the handler called runtime.Goexit
		if returned {
			return
		}
		report(a.cfg.Panicked, r, value)
		if w.started() {
			w.err = messages.InvokeResponse_Error{Type: "HandlerPanic", Message: panicText(value)}
			return
		}
		w.replace(http.StatusInternalServerError, internalError)
	}()
	a.handler.ServeHTTP(w, r)
	returned = true
}

// report calls the hook with a panic, unless the panic is the one that means "drop this
// connection".
func report(hook func(*http.Request, any, []byte), r *http.Request, value any) {
	if hook != nil && value != http.ErrAbortHandler {
		hook(r, value, debug.Stack())
	}
}

func panicText(value any) string {
	switch value {
	case nil:
		return "the handler ended its goroutine"
	case http.ErrAbortHandler:
		return "the handler aborted the response"
	default:
		return fmt.Sprintf("the handler panicked: %v", value)
	}
}
