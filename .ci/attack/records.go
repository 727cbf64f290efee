package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// recordAttacks are records of models with forged destinations (point 7).
func recordAttacks() []attack {
	return []attack{
		{
			name: "records/check", about: "glossa models check of records whose ARN names a host", alone: true,
			goals: goals{only: []string{"refused", "accepted"}},
			run: func(_ context.Context, s *scene) {
				for i, arn := range append(hostileARNs(), rightARN) {
					file := filepath.Join(s.dir, fmt.Sprintf("bedrock-model%d.json", i))
					if err := os.WriteFile(file, recordOf(fmt.Sprintf("bedrock-model%d", i), arn), 0o600); err != nil {
						s.fault("%v", err)
						return
					}
					outcome := "accepted"
					if _, err := s.command("", "models", "check", file); err != nil {
						outcome = "refused"
					}
					s.tally.add(outcome, arn)
					if (outcome == "accepted") != (arn == rightARN) {
						s.fault("%s: %s", outcome, arn)
					}
				}
			},
		}, {
			name: "records/dial", about: "requests for models of such records, through a proxy", alone: true, lasts: 20 * time.Second,
			goals: goals{only: []string{"200", "400", "404", "502", "503", cut}},
			run:   dial,
		},
	}
}

// rightARN is a valid ARN.
const rightARN = "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.mistral.mistral-large-2407-v1:0"

// hostileARNs returns ARNs with another text in place of the region.
func hostileARNs() []string {
	var list []string
	for _, region := range []string{
		"x.evil.example/y?", "x.evil.example/", "x.evil.example#", "x@evil.example", "evil.example", "x.evil.example\\", "x%2eevil.example", "eu-west-1.evil", "..", "-", "eu west", "é",
	} {
		list = append(list, "arn:aws:bedrock:"+region+":123456789012:inference-profile/eu.mistral.mistral-large-2407-v1:0")
	}
	return list
}

// recordOf returns the record of a model on Bedrock with the ARN.
func recordOf(key, arn string) []byte {
	b, err := json.Marshal(map[string]any{
		"pk": "models", "sk": key, "model_id": arn,
		"schema": map[string]any{
			"request":  map[string]any{"defaults": map[string]any{"prompt": "", "max_tokens": nil}, "mapping": map[string]any{"prompt": "$.prompt", "max_new_tokens": "$.max_tokens"}, "omit_null": true},
			"response": map[string]any{"mapping": map[string]any{"generated_text": "$.outputs[0].text"}},
		},
	})
	if err != nil {
		panic(err) // maps and strings are JSON
	}
	return b
}

// dial serves the records, requests each of their models, and records the hosts that the
// server would connect to.
func dial(ctx context.Context, s *scene) {
	proxy, err := newProxy()
	if err != nil {
		s.fault("%v", err)
		return
	}
	defer proxy.close()
	names, err := s.writeRecords(filepath.Join(s.dir, "records"))
	if err != nil {
		s.fault("%v", err)
		return
	}
	s.env = append(s.env, "GLOSSA_RECORDS="+filepath.Join(s.dir, "records"), "HTTPS_PROXY="+proxy.url(), "HTTP_PROXY="+proxy.url(), "AWS_MAX_ATTEMPTS=1",
		"AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY=secret", "AWS_BEARER_TOKEN_BEDROCK=token")
	if err := s.restart(ctx); err != nil {
		s.fault("%v", err)
		return
	}
	var group sync.WaitGroup
	for _, name := range names {
		group.Go(func() {
			s.send(ctx, post("/v1/completions", fmt.Sprintf(`{"model": %q, "prompt": "Hi", "max_tokens": 1}`, name)))
		})
	}
	group.Wait()
	right := false
	for _, host := range proxy.hosts() {
		if host == "bedrock-runtime.eu-west-1.amazonaws.com:443" {
			right = true
			continue
		}
		s.fault("it dials %s", host)
	}
	if !right {
		s.fault("no attack: the model of the right ARN was not called")
	}
}

// writeRecords writes the records of all ARNs, and the list of their models.
func (s *scene) writeRecords(dir string) (names []string, err error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	type model struct {
		Type      string `json:"model_type"`
		Name      string `json:"model_name"`
		Family    string `json:"model_family"`
		Streaming bool   `json:"streaming"`
	}
	models := []model{{"Alpha", "novels", "local", true}} // for the bystander
	for i, arn := range append(hostileARNs(), rightARN) {
		name := fmt.Sprintf("model%d", i)
		names = append(names, name, arn) // an ARN is also a name, whose group's record is one of these
		models = append(models, model{"Mistral", name, "bedrock", false}, model{"Mistral", arn, "bedrock", false})
		if err := os.WriteFile(filepath.Join(dir, "bedrock-"+name+".json"), recordOf("bedrock-"+name, arn), 0o600); err != nil {
			return nil, err
		}
	}
	b, err := json.Marshal(map[string]any{"pk": "models", "sk": "all-models", "models": models})
	if err != nil {
		return nil, err
	}
	return names, os.WriteFile(filepath.Join(dir, "all-models.json"), b, 0o600)
}

// A proxy records the requested hosts and connects to none.
type proxy struct {
	listener net.Listener
	mu       sync.Mutex
	asked    map[string]bool
}

func newProxy() (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, asked: map[string]bool{}}
	go p.serve()
	return p, nil
}

// serve answers until the listener is closed.
func (p *proxy) serve() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.refuse(c)
	}
}

// refuse records the host of one request and rejects it.
func (p *proxy) refuse(c net.Conn) {
	defer c.Close()
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return
	}
	p.mu.Lock()
	p.asked[strings.ToLower(r.Host)] = true
	p.mu.Unlock()
	_, _ = c.Write([]byte("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")) // the client may have disconnected
}

func (p *proxy) url() string { return "http://" + p.listener.Addr().String() }

func (p *proxy) hosts() (list []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for host := range p.asked {
		list = append(list, host)
	}
	return list
}

func (p *proxy) close() { _ = p.listener.Close() } // stop listening
