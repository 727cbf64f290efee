package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"glossa/pkg/bucket/buckettest"
)

const someARN = "arn:aws:lambda:eu-west-1:123456789012:function:batches:live"

// A batchFleet runs the events that a function of batches queues for itself.
type batchFleet struct {
	t     *testing.T
	app   *App
	lasts time.Duration // of an invocation
	wait  sync.WaitGroup

	mu    sync.Mutex
	count map[string]int // events by kind
	now   int            // invocations that run
	most  int
	lost  error // of the queue
}

// invocation returns the context of an invocation.
func (f *batchFleet) invocation() (context.Context, context.CancelFunc) {
	ctx := lambdacontext.NewContext(f.t.Context(), &lambdacontext.LambdaContext{InvokedFunctionArn: someARN})
	return context.WithTimeout(ctx, f.lasts)
}

// later is the queue of Lambda.
func (f *batchFleet) later(ctx context.Context, e batchEvent) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count[e.Batches]++
	if f.lost != nil {
		return f.lost
	}
	f.wait.Go(func() { f.run(fmt.Sprintf(`{"batches":%q}`, e.Batches)) })
	return nil
}

func (f *batchFleet) run(payload string) {
	ctx, cancel := f.invocation()
	defer cancel()
	f.mu.Lock()
	f.now++
	f.most = max(f.most, f.now)
	f.mu.Unlock()
	if !f.app.batches.event(ctx, []byte(payload)) {
		f.t.Errorf("%s is not known", payload)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now--
}

// batchesInBucket returns the program of a function of batches over a bucket, and its fleet.
func batchesInBucket(t *testing.T, lasts time.Duration) (*batchFleet, http.Handler) {
	server := httptest.NewServer(&buckettest.Store{})
	t.Cleanup(server.Close)
	a := golden(t, Config{
		Batches: "s3://some/batches", Endpoints: Endpoints{S3: server.URL}, Workers: 2, BatchFunctions: 2,
		AWS: func(*awshttp.BuildableClient) (aws.Config, error) {
			return aws.Config{Region: "eu-west-1", HTTPClient: http.DefaultClient, Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "")}, nil
		},
	})
	f := &batchFleet{t: t, app: a, lasts: lasts, count: map[string]int{}}
	a.batches.later = f.later
	h := a.Handler("batches")
	return f, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := f.invocation()
		defer cancel()
		h.ServeHTTP(w, r.WithContext(ctx))
	})
}

func batchLines(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(line(fmt.Sprint("c", i), "/v1/completions", `{"model":"golden","prompt":"a","max_tokens":1}`))
	}
	return b.String()
}

// TestBatchFunctions: a new batch starts the functions that it needs, and no more than there may be; they
// end when it has ended.
func TestBatchFunctions(t *testing.T) {
	f, h := batchesInBucket(t, 15*time.Minute)
	file, status, answer := sendFile(t, h, "", "batch", batchLines(200))
	if status != 200 {
		t.Fatal(answer)
	}
	for range 3 { // other starts find no free slot
		f.run(`{"batches":"start"}`)
	}
	id, _, _ := order(t, h, "", file, "/v1/completions")
	f.run(`{"batches":"start"}`)
	f.wait.Wait()
	b := finished(t, f.app, h, "", id)
	if b.Status != "completed" || b.RequestCounts["completed"] != 200 || len(outputs(t, h, "", b.Output)) != 200 {
		t.Errorf("%+v", b)
	}
	if f.count["start"] != 1 || f.count["work"] < 1 || f.count["work"] > 4 {
		t.Errorf("events %v", f.count)
	}
}

// TestBatchFunctionsGoOn: an invocation that ends before the batch has another one take its place.
func TestBatchFunctionsGoOn(t *testing.T) {
	f, h := batchesInBucket(t, 5*(worthwhile+60*time.Millisecond)/4)
	file, _, _ := sendFile(t, h, "", "batch", batchLines(2000))
	id, _, _ := order(t, h, "", file, "/v1/completions")
	f.wait.Wait()
	if b := finished(t, f.app, h, "", id); b.Status != "completed" || b.RequestCounts["completed"] != 2000 {
		t.Errorf("%+v", b)
	}
	if f.count["start"] != 1 || f.count["work"] <= 2 {
		t.Errorf("events %v", f.count)
	}
}

// TestLostStart: a batch whose first event is lost waits for the schedule.
func TestLostStart(t *testing.T) {
	f, h := batchesInBucket(t, 15*time.Minute)
	file, _, _ := sendFile(t, h, "", "batch", batchLines(3))
	f.lost = errors.New("TooManyRequestsException")
	id, status, answer := order(t, h, "", file, "/v1/completions")
	if status != 200 {
		t.Fatal(answer)
	}
	f.lost = nil
	f.run(`{"batches":"start"}`)
	f.wait.Wait()
	if text := text(t, ask(h, "GET", "/v1/batches/"+id, "", nil)); !strings.Contains(text, `"completed"`) {
		t.Error(text)
	}
}

// Other events are not of batches.
func TestUnknownBatchEvents(t *testing.T) {
	f, _ := batchesInBucket(t, time.Minute)
	for _, payload := range []string{`{}`, `{"batches":"stop"}`, `{"batches":1}`, `[]`, `"start"`, ``} {
		if f.app.batches.event(t.Context(), []byte(payload)) {
			t.Errorf("%s is known", payload)
		}
	}
}
