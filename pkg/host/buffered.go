package host

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/awslabs/aws-lambda-go-api-proxy/core"
)

// maxAnswer is the largest JSON of a buffered answer, in bytes: Lambda's 6 MB for a synchronous
// invocation. The Runtime API would reject a larger one, which ends the process.
const maxAnswer = 6 << 20

// buffer runs the handler to its end and answers with one JSON document. finish runs when the Response is closed.
func (a *Adapter) buffer(e *event, r *http.Request, finish func()) (*Response, error) {
	w := &writer{head: r.Method == http.MethodHead, limit: maxAnswer, prefix: e.removed(a.cfg.BasePath)}
	ended := make(chan struct{})
	go func() { // ends with the handler; a goroutine, so that runtime.Goexit in a handler cannot end the Lambda loop
		defer close(ended)
		a.serve(w, r)
	}()
	<-ended
	if w.err != nil {
		w.replace(http.StatusInternalServerError, tooLarge)
	}
	w.WriteHeader(http.StatusOK)
	w.sniff()
	doc, err := w.document(e.kind)
	if err == nil && len(doc) > maxAnswer {
		w.replace(http.StatusInternalServerError, tooLarge)
		doc, err = w.document(e.kind)
	}
	if err != nil {
		finish()
		return nil, fmt.Errorf("host: encode the answer: %w", err)
	}
	return &Response{Reader: bytes.NewReader(doc), contentType: "application/json", close: finish}, nil
}

var tooLarge = fmt.Sprintf("the response is larger than the %d bytes of a buffered Lambda answer", maxAnswer)

// document is the answer as api-proxy forms it, corrected where v0.16.2 differs from net/http:
//   - an answer without a body or WriteHeader is an error: writer has made it a 200;
//   - headers set after WriteHeader are sent and the last status wins: writer has fixed them;
//   - a type is sniffed from encoded bodies: taken out again;
//   - binary types whose bytes happen to be UTF-8 go as text: sent as base64.
func (w *writer) document(k kind) ([]byte, error) {
	header, body := w.sent.Clone(), w.buf
	if w.head {
		body = nil
		if header.Get("Content-Length") == "" && w.written > 0 {
			header.Set("Content-Length", strconv.Itoa(w.written))
		}
	} else if bodyAllowed(w.status) {
		header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	binary := len(body) > 0 && !textual(header)
	if k.v1() {
		return documentV1(w.status, header, body, binary)
	}
	return documentV2(w.status, header, body, binary)
}

func documentV1(status int, header http.Header, body []byte, binary bool) ([]byte, error) {
	rw := core.NewProxyResponseWriter()
	if err := fill(rw, status, header, body); err != nil {
		return nil, err
	}
	out, err := rw.GetProxyResponse()
	if err != nil {
		return nil, err
	}
	if header.Get("Content-Type") == "" {
		delete(out.MultiValueHeaders, "Content-Type")
	}
	if binary && !out.IsBase64Encoded {
		out.Body, out.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	return marshal(out)
}

func documentV2(status int, header http.Header, body []byte, binary bool) ([]byte, error) {
	rw := core.NewProxyResponseWriterV2()
	if err := fill(rw, status, header, body); err != nil {
		return nil, err
	}
	out, err := rw.GetProxyResponse()
	if err != nil {
		return nil, err
	}
	if header.Get("Content-Type") == "" {
		delete(out.Headers, "Content-Type")
	}
	for k, v := range header {
		if len(v) > 1 && k != "Set-Cookie" {
			out.Headers[k] = strings.Join(v, ", ")
		}
	}
	if binary && !out.IsBase64Encoded {
		out.Body, out.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	return marshal(out)
}

// fill copies a finished answer into one of api-proxy's writers.
func fill(rw http.ResponseWriter, status int, header http.Header, body []byte) error {
	maps.Copy(rw.Header(), header)
	rw.WriteHeader(status)
	if len(body) == 0 {
		return nil
	}
	_, err := rw.Write(body)
	return err
}

// marshal is json.Marshal without the escapes for HTML, which would make text answers larger.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// textual reports whether the header declares a body that may be sent as text.
func textual(h http.Header) bool {
	if enc := h.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return false
	}
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return false
	}
	switch t {
	case "application/json", "application/x-ndjson", "application/jsonl", "application/xml", "application/javascript",
		"application/yaml", "application/x-www-form-urlencoded", "image/svg+xml":
		return true
	}
	return strings.HasPrefix(t, "text/") || strings.HasSuffix(t, "+json") || strings.HasSuffix(t, "+xml")
}
