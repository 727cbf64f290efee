package host

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// flushSize is the number of bytes that gather before they are sent without a Flush, as in
// net/http.
const flushSize = 4096

var errTooLarge = errors.New("host: the response is larger than a buffered answer may be")

// writer is the http.ResponseWriter of one request, with net/http's rules: WriteHeader fixes the header, the first
// status wins, a missing Content-Type is sniffed, HEAD and bodiless statuses have no body.
type writer struct {
	head   bool
	limit  int                                            // largest body of a buffered answer, in bytes
	prefix string                                         // that the client's paths have before the handler's
	open   func(status int, header http.Header) io.Writer // starts a streamed answer; nil in a buffered one
	header http.Header

	status  int         // 0 before WriteHeader
	sent    http.Header // the header as it was at WriteHeader
	buf     []byte      // not sent yet; the whole body when buffered
	written int         // bytes written by the handler
	out     io.Writer   // nil until the first bytes have left
	err     error       // the first failure, returned by every later Write
}

// Header returns the header that WriteHeader will send.
func (w *writer) Header() http.Header {
	if w.header == nil {
		w.header = make(http.Header)
	}
	return w.header
}

// WriteHeader fixes status and header. Informational statuses cannot be sent and are ignored.
func (w *writer) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("invalid WriteHeader code %d", status))
	}
	if w.status != 0 || status < 200 && status != http.StatusSwitchingProtocols {
		return
	}
	w.status, w.sent = status, w.Header().Clone()
	for k := range w.sent {
		if hopByHop(k) {
			delete(w.sent, k)
		}
	}
	if to := w.sent.Get("Location"); strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//") {
		w.sent.Set("Location", w.prefix+to)
	}
}

// Write adds to the body.
func (w *writer) Write(p []byte) (int, error) { return write(w, p) }

// WriteString adds to the body.
func (w *writer) WriteString(s string) (int, error) { return write(w, s) }

func write[T []byte | string](w *writer, p T) (int, error) {
	w.WriteHeader(http.StatusOK)
	switch {
	case w.err != nil:
		return 0, w.err
	case !bodyAllowed(w.status):
		return 0, http.ErrBodyNotAllowed
	case w.head:
		w.written += len(p)
		w.buf = append(w.buf, p[:min(len(p), 512-min(len(w.buf), 512))]...) // kept to sniff the type
		return len(p), nil
	case w.open == nil && len(p) > w.limit-len(w.buf):
		w.err = errTooLarge
		return 0, w.err
	}
	w.written += len(p)
	w.buf = append(w.buf, p...)
	if w.open != nil && len(w.buf) >= flushSize {
		if err := w.FlushError(); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// Flush sends the bytes written so far. In a buffered answer it only fixes the header.
func (w *writer) Flush() { _ = w.FlushError() } // http.Flusher has no error; the next Write returns it

// FlushError is Flush with an error.
func (w *writer) FlushError() error {
	w.WriteHeader(http.StatusOK)
	if w.open == nil || w.err != nil {
		return w.err
	}
	if w.out == nil {
		w.sniff()
		w.out = w.open(w.status, w.sent)
	}
	if len(w.buf) > 0 && !w.head {
		_, w.err = w.out.Write(w.buf)
		w.buf = w.buf[:0]
	}
	return w.err
}

// started reports whether the first bytes have left; the status is final then.
func (w *writer) started() bool { return w.out != nil }

// replace drops the answer and writes an error instead. It must be called before any bytes have left.
func (w *writer) replace(status int, message string) {
	*w = writer{head: w.head, limit: w.limit, prefix: w.prefix, open: w.open}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.WriteString(errorBody(message)) // cannot fail: far below the limit and flushSize
}

// sniff sets a missing Content-Type as net/http does.
func (w *writer) sniff() {
	_, typed := w.sent["Content-Type"]
	if !typed && w.sent.Get("Content-Encoding") == "" && len(w.buf) > 0 {
		w.sent.Set("Content-Type", http.DetectContentType(w.buf))
	}
}

func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// hopByHop reports whether a header belongs to one connection, or is a net/http trailer, and must not leave the
// host.
func hopByHop(key string) bool {
	return strings.HasPrefix(key, http.TrailerPrefix) || slices.Contains([]string{
		"Connection", "Keep-Alive", "Proxy-Connection", "Trailer", "Transfer-Encoding", "Upgrade",
	}, key)
}

// errorBody returns the error body of last resort. It is neutral: the dialect's own errors are made inside the
// handler.
func errorBody(message string) string {
	return fmt.Sprintf(`{"error":{"message":%q,"type":"server_error"}}`, message)
}
