package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/aws/smithy-go/transport/http/protocol/restjson1"

	"glossa/pkg/backend/awsrest"
)

// An errand is a number of direct calls.
type errand struct {
	Kind          string // sdk, own, http
	Stream        bool
	Calls, Frames int // Frames is the expected number of each stream
	Connections   int
	Body          []byte
}

// Clients of an errand: the SDK's, glossa's own, net/http.
const (
	bySDK  = "sdk"
	byOwn  = "own"
	byHTTP = "http"
)

// calls serves control requests for errands.
func calls(fake string, control *http.ServeMux) error {
	sdk, own, err := newClients(fake)
	if err != nil {
		return err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, 1024
	plain := &http.Client{Transport: transport}
	control.HandleFunc("/do", func(w http.ResponseWriter, r *http.Request) {
		var e errand
		err := json.NewDecoder(r.Body).Decode(&e)
		if err == nil {
			err = e.do(r.Context(), func(ctx context.Context) error {
				if e.Stream {
					time.Sleep(time.Duration(rand.Float64() * float64(beginning)))
				}
				switch {
				case e.Kind == byOwn:
					return e.own(ctx, own)
				case e.Kind == bySDK && e.Stream:
					return e.sdkStream(ctx, sdk)
				case e.Kind == bySDK:
					_, err := sdk.InvokeModel(ctx, &bedrockruntime.InvokeModelInput{
						ModelId: aws.String(modelID), Body: e.Body, ContentType: aws.String("application/json"), Accept: aws.String("application/json"),
					}, sound)
					return err
				}
				return e.plain(ctx, plain, fake)
			})
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	return nil
}

// do makes the calls, one at a time for each connection.
func (e *errand) do(ctx context.Context, call func(context.Context) error) error {
	return atOnce(e.Connections, e.Calls, func() error { return call(ctx) })
}

// atOnce calls do n times from a number of workers, until it fails.
func atOnce(workers, n int, do func() error) error {
	var next atomic.Int64
	var all sync.WaitGroup
	errs := make(chan error, workers)
	for range workers {
		all.Go(func() {
			for next.Add(1) <= int64(n) {
				if err := do(); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	return <-errs
}

func (e *errand) sdkStream(ctx context.Context, sdk *bedrockruntime.Client) error {
	out, err := sdk.InvokeModelWithResponseStream(ctx, &bedrockruntime.InvokeModelWithResponseStreamInput{
		ModelId: aws.String(modelID), Body: e.Body, ContentType: aws.String("application/json"), Accept: aws.String("application/json"),
	}, sound)
	if err != nil {
		return err
	}
	stream := out.GetStream()
	defer stream.Close()
	got := 0
	for event := range stream.Events() {
		if chunk, ok := event.(*types.ResponseStreamMemberChunk); ok && bytes.Contains(chunk.Value.Bytes, []byte("text_delta")) {
			got++
		}
	}
	if err := stream.Err(); err != nil || got != e.Frames {
		return fmt.Errorf("%d frames of %d: %v", got, e.Frames, err)
	}
	return nil
}

// sound sets the options of a reliable call. Streams of one client would share its
// protocol's buffer.
func sound(o *bedrockruntime.Options) {
	o.HTTPClient = reading{o.HTTPClient}
	o.Protocol = restjson1.New(nil)
}

// reading is a client that hides all methods of a request's body except Read. The SDK closes
// the body as soon as there is an answer. If net/http still looks for its end then, its
// WriteTo fails with io.EOF (smithy-go 1.28.8, safeWriteToReadCloser), and net/http closes
// the connection under a stream that has just begun. Its Read works correctly.
type reading struct{ bedrockruntime.HTTPClient }

// Do implements [bedrockruntime.HTTPClient].
func (c reading) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r = r.WithContext(r.Context()) // a copy
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return c.HTTPClient.Do(r)
}

// own makes the call with glossa's client.
func (e *errand) own(ctx context.Context, client *awsrest.Client) error {
	name := "invoke"
	if e.Stream {
		name = "invoke-with-response-stream"
	}
	a, err := client.Operation(http.Header{"Accept": {"application/json"}}, "model", modelID, name).Post(ctx, e.Body)
	if err != nil {
		return err
	}
	if !e.Stream {
		_, err := a.Whole()
		return err
	}
	got := 0
	for event, err := range a.Events() {
		if err != nil {
			return err
		}
		var chunk struct{ Bytes []byte }
		if err := json.Unmarshal(event.Payload, &chunk); err != nil {
			return err
		}
		if bytes.Contains(chunk.Bytes, []byte("text_delta")) {
			got++
		}
	}
	if got != e.Frames {
		return fmt.Errorf("%d frames of %d", got, e.Frames)
	}
	return nil
}

func (e *errand) plain(ctx context.Context, client *http.Client, fake string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, fake+"/v1/chat/completions", bytes.NewReader(e.Body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if !e.Stream {
		_, err = io.Copy(io.Discard, res.Body)
		return err
	}
	got := 0
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data: {") {
			got++
		}
	}
	if got != e.Frames {
		return fmt.Errorf("%d frames of %d: %v", got, e.Frames, lines.Err())
	}
	return nil
}
