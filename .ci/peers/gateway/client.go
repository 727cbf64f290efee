package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

// newBody returns the body of a request of about a kilobyte.
func newBody(stream bool) []byte {
	b, err := json.Marshal(map[string]any{
		"model": modelID, "max_tokens": 256, "temperature": 0.5, "stream": stream,
		"messages": []map[string]string{
			{"role": "system", "content": "You answer in one short sentence."},
			{"role": "user", "content": strings.Repeat("Tell me about the old lighthouse. ", 24)},
		},
	})
	if err != nil {
		panic(err) // strings and numbers
	}
	return b
}

// A client sends requests to a serving worker.
type client struct{ http *http.Client }

func newHTTP() *client {
	return &client{&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024, DisableCompression: true}}}
}

func (c *client) post(url string, body []byte) (*http.Response, error) {
	r, err := http.NewRequest(http.MethodPost, url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+secret)
	res, err := c.http.Do(r)
	if err == nil && res.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(io.LimitReader(res.Body, 500))
		res.Body.Close()
		return nil, fmt.Errorf("%s: %s", res.Status, b)
	}
	return res, err
}

// once sends one request and checks that the answer has the fake's text.
func (c *client) once(url string, body []byte) error {
	res, err := c.post(url, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err == nil && !bytes.Contains(b, []byte(said)) {
		return fmt.Errorf("the answer is %.300q", b)
	}
	return err
}

// delays holds the delays of streams in microseconds, without the fake's pace.
type delays struct {
	mu    sync.Mutex
	whole []float64 // of a frame, from the fake to the client
	gaps  []float64 // between two frames at the client, minus those at the fake
}

// beginning is the period over which the streams begin, because opening hundreds of them
// takes longer than a frame.
const beginning = 2 * time.Second

// streams reads concurrent streams that begin at different times.
func (c *client) streams(url string, body []byte, p plan) (*delays, error) {
	d := &delays{}
	return d, atOnce(p.streams, p.streams, func() error {
		time.Sleep(time.Duration(rand.Float64() * float64(beginning)))
		return c.stream(url, body, p.frames, d)
	})
}

// stream reads a stream and checks that all frames arrive separately and in order.
func (c *client) stream(url string, body []byte, frames int, d *delays) error {
	res, err := c.post(url, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var whole, gaps []float64
	var came, sent int64 // times of the last frame, ns
	done := false
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		now := time.Now().UnixNano()
		if string(data) == "[DONE]" {
			done = true
			continue
		}
		text, err := textOf(data)
		if err != nil || text == "" {
			if err != nil {
				return err
			}
			continue
		}
		var number int
		var at int64
		if n, err := fmt.Sscanf(text, "%06d %d\n", &number, &at); n != 2 || err != nil || strings.Count(text, "\n") != 1 || number != len(whole) {
			return fmt.Errorf("frame %d has the text %q: %w", len(whole), text, errors.Join(errFrames, err))
		}
		if whole = append(whole, float64(now-at)/1e3); came != 0 {
			gaps = append(gaps, float64((now-came)-(at-sent))/1e3)
		}
		came, sent = now, at
	}
	if err := lines.Err(); err != nil || !done || len(whole) != frames {
		return fmt.Errorf("%d frames of %d, ended: %v: %w", len(whole), frames, done, errors.Join(errFrames, err))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.whole, d.gaps = append(d.whole, whole...), append(d.gaps, gaps...)
	return nil
}

var errFrames = errors.New("frames are lost, merged or out of order")

// textOf returns the text of an event of OpenAI's.
func textOf(data []byte) (string, error) {
	var event struct {
		Choices []struct{ Delta struct{ Content string } }
		Error   json.RawMessage
	}
	if err := json.Unmarshal(data, &event); err != nil || event.Error != nil {
		return "", fmt.Errorf("event %.300q: %w", data, err)
	}
	if len(event.Choices) == 0 {
		return "", nil
	}
	return event.Choices[0].Delta.Content, nil
}
