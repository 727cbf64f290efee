// Package tabletest is an in-memory DynamoDB at the wire level, for tests, and the
// contract of a [table.Table]. It knows the operations and the expressions that
// pkg/table writes, and answers all others with an error, so that unexpected requests
// show. It refuses to know the meaning of items.
//
// Sources: Amazon DynamoDB API Reference, API version 2012-08-10; Amazon DynamoDB
// Developer Guide, "Low-level API", "Error handling", "Service, account, and table
// quotas".
package tabletest

import (
	"context"
	"encoding/json"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"glossa/pkg/backend/awsrest"
	"glossa/pkg/table"
)

// Faults other than HTTP statuses.
const (
	Hang  = -1 // no answer until the caller is gone
	Close = -2 // the connection ends before anything is done
	Lost  = -3 // the operation is done, then the connection ends
)

// A Service is an independent DynamoDB. It is safe for concurrent use; each operation
// is atomic.
type Service struct {
	URL string // for a client's BaseEndpoint

	mu     sync.Mutex
	tables map[string]*stored
	counts map[string]int
	fault  func(op string) (status int, code string)
	page   int
	done   chan struct{} // closed when the test ends
}

// New starts a service that ends with the test. It has an empty table "glossa".
func New(t testing.TB) *Service {
	t.Helper()
	s := &Service{tables: map[string]*stored{"glossa": newStored()}, counts: map[string]int{}, done: make(chan struct{})}
	server := httptest.NewServer(s)
	s.URL = server.URL
	t.Cleanup(func() {
		close(s.done)
		server.Close()
	})
	return s
}

// Client returns the SDK's client of the service, with its default settings.
func (s *Service) Client() *dynamodb.Client { return Client(s.URL) }

// Table returns the table "glossa".
func (s *Service) Table() *table.Table { return table.New(Caller(s.URL, nil), "glossa") }

// Fault sets the fault of each request: an HTTP status with an error code (400
// ThrottlingException, 500 InternalServerError, ...), [Hang], [Close] or [Lost]; 0 is
// no fault. A nil f ends the faults.
func (s *Service) Fault(f func(op string) (status int, code string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// PageSize bounds the items of a query's page, so that few items make many pages; 0
// leaves the service's own bound, 1 MB.
func (s *Service) PageSize(items int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.page = items
}

// Requests returns the number of requests for an operation ("GetItem"), including
// failed ones; for all operations with "".
func (s *Service) Requests(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if op != "" {
		return s.counts[op]
	}
	n := 0
	for _, c := range s.counts {
		n += c
	}
	return n
}

// Client returns a client of the service at url, in us-east-1, with credentials that only
// test services accept.
func Client(url string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{BaseEndpoint: &url, Region: "us-east-1", Credentials: aws.CredentialsProviderFunc(nobody)})
}

// Caller returns the client that tables use of the service at url, like [Client]; its requests
// are sent by via, unless that is nil.
func Caller(url string, via awsrest.Doer) *awsrest.Client {
	cfg := aws.Config{Region: "us-east-1", Credentials: aws.CredentialsProviderFunc(nobody)}
	if via != nil {
		cfg.HTTPClient = via
	}
	client, err := awsrest.New(awsrest.DynamoDB(), cfg, url, "")
	if err != nil {
		panic(err)
	}
	return client
}

// nobody returns made-up credentials: neither service here checks them.
func nobody(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "nobody", SecretAccessKey: "nothing"}, nil
}

// ServeHTTP answers one request.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	op, ours := strings.CutPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_20120810.")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	s.mu.Lock()
	s.counts[op]++
	fault := s.fault
	s.mu.Unlock()
	var status int
	var code string
	if fault != nil {
		status, code = fault(op)
	}
	switch {
	case status == Hang:
		select {
		case <-r.Context().Done():
		case <-s.done:
		}
		panic(http.ErrAbortHandler)
	case status == Close:
		panic(http.ErrAbortHandler)
	case status == Lost:
		_, _ = s.do(op, body)
		panic(http.ErrAbortHandler)
	case status != 0:
		answer(w, status, &failure{Type: namespace(code) + code, Message: "injected"})
		return
	case r.Method != http.MethodPost || !ours || r.Header.Get("Content-Type") != "application/x-amz-json-1.0":
		answer(w, 400, fail("UnknownOperationException", ""))
		return
	}
	out, err := s.do(op, body)
	if err != nil {
		answer(w, 400, err)
		return
	}
	answer(w, 200, out)
}

// answer writes an answer with its checksum.
func answer(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.Header().Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(b)), 10))
	w.WriteHeader(status)
	_, _ = w.Write(b)
}

// A failure is an error in wire format.
type failure struct {
	Type    string `json:"__type"`
	Message string `json:"message,omitempty"`
}

func (f *failure) Error() string { return f.Type + ": " + f.Message }

func fail(code, message string) *failure { return &failure{namespace(code) + code, message} }

// invalid returns the service's error for an invalid request.
func invalid(message string) *failure { return fail("ValidationException", message) }

// namespace returns the prefix of an error code.
func namespace(code string) string {
	switch code {
	case "ValidationException":
		return "com.amazon.coral.validate#"
	case "ThrottlingException":
		return "com.amazon.coral.availability#"
	case "UnknownOperationException", "SerializationException":
		return "com.amazon.coral.service#"
	}
	return "com.amazonaws.dynamodb.v20120810#"
}
