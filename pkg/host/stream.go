package host

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

var errGone = errors.New("host: the connection to the Lambda runtime is closed")

// stream answers with a streaming response: status and header leave with the first flush, and each flush sends its
// bytes. It returns when the first bytes are ready. finish runs when the Response is closed.
func (a *Adapter) stream(e *event, r *http.Request, finish func()) *Response {
	pr, pw := io.Pipe()
	opened := make(chan *Response, 1)
	ended := make(chan struct{})
	w := &writer{head: r.Method == http.MethodHead, prefix: e.removed(a.cfg.BasePath)}
	w.open = func(status int, header http.Header) io.Writer {
		opened <- &Response{
			Reader:      streamBody(e.kind, status, header, pr),
			contentType: "application/vnd.awslambda.http-integration-response",
			close: func() {
				_ = pr.CloseWithError(errGone) // always nil
				finish()
				<-ended
			},
		}
		return pw
	}
	go func() { // owned by the Response: its Close waits for it
		defer close(ended)
		defer func() { _ = pw.CloseWithError(w.FlushError()) }() // always nil; deferred for runtime.Goexit
		a.serve(w, r)
	}()
	return <-opened
}

// streamBody returns the prelude and the body in the shape of the event's kind.
func streamBody(k kind, status int, header http.Header, body io.Reader) io.Reader {
	if k.v1() {
		return &events.APIGatewayProxyStreamingResponse{StatusCode: status, MultiValueHeaders: header, Body: body}
	}
	out := &events.LambdaFunctionURLStreamingResponse{
		StatusCode: status,
		Headers:    make(map[string]string, len(header)),
		Cookies:    header["Set-Cookie"],
		Body:       body,
	}
	for k, v := range header {
		if k != "Set-Cookie" {
			out.Headers[k] = strings.Join(v, ", ")
		}
	}
	return out
}
