package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// promptBytes is the size of texts that nearly fill the largest body that routes of models
// take, 10 MiB.
const promptBytes = 10_000_000

// promptAttacks send prompts that cannot fit, packed and plain (point 2).
func promptAttacks() []attack {
	// The body is unpacked and read, 10 MB of JSON each, and no more.
	refusal := goals{only: []string{"400", "413", "429"}, refused: 8, cpu: 8 * 400 * time.Millisecond, grown: 512}
	words := promptOf(strings.Repeat("The old lighthouse ", promptBytes/19))
	letters := promptOf(strings.Repeat("a", promptBytes))
	noise := promptOf(word(promptBytes))
	list := []attack{
		{
			name: "gzip/words", about: "eight prompts of 10 MB, 25 KB packed", goals: refusal,
			run: atOnce8(packed(words)),
		}, {
			name: "gzip/letters", about: "eight prompts of one letter, ten million times", goals: refusal,
			run: atOnce8(packed(letters)),
		}, {
			name: "gzip/spaces", about: "eight requests after 10 MB of spaces, 10 KB packed",
			goals: goals{only: []string{"200", "400", "413", "429"}, cpu: refusal.cpu, grown: refusal.grown},
			run:   atOnce8(packed(strings.Repeat(" ", promptBytes) + shortRows)),
		}, {
			name: "gzip/more", about: "eight bodies of 200 MB, 200 KB packed", goals: refusal,
			run: atOnce8(packed(promptOf(strings.Repeat("a", 20*promptBytes)))),
		}, {
			name: "gzip/members", about: "eight bodies of 2,000 packed members, 100 MB together", goals: refusal,
			run: func(ctx context.Context, s *scene) {
				begin, member := pack(`{"model": "novels", "prompt": "`), pack(strings.Repeat("a", 50_000))
				body := append(begin, bytes.Repeat(member, 2000)...)
				s.atOnce(ctx, times(8, call{path: "/v1/completions", body: body}.zipped())...)
			},
		}, {
			name: "gzip/nested", about: "eight bodies that are packed twice, said and not said", goals: refusal,
			run: func(ctx context.Context, s *scene) {
				body := pack(string(pack(promptOf(strings.Repeat("a", 20*promptBytes)))))
				c := call{path: "/v1/completions", body: body}
				s.atOnce(ctx, append(times(4, c.zipped()), times(4, c.with("Content-Encoding", "gzip, gzip"))...)...)
			},
		}, {
			name: "prompts/words", about: "eight prompts of 10 MB, not packed", goals: refusal,
			run: atOnce8(post("/v1/completions", words)),
		}, {
			name: "prompts/word", about: "eight prompts of one word of 10 MB", goals: refusal,
			run: atOnce8(post("/v1/completions", noise)),
		}, {
			// The words are none of those of chords, which leaves them out: its prompt fits.
			name: "prompts/models", about: "eight prompts of 10 MB, two of each model",
			goals: goals{only: []string{"200", "400", "413", "429"}, refused: 6, cpu: refusal.cpu, grown: refusal.grown},
			run: func(ctx context.Context, s *scene) {
				var calls []call
				for _, model := range []string{"novels", "abc", "chords", "forms"} {
					calls = append(calls, times(2, post("/v1/completions", strings.Replace(words, "novels", model, 1)))...)
				}
				s.atOnce(ctx, calls...)
			},
		}, {
			name: "prompts/list", about: "eight lists of 250 prompts of 40 KB each", goals: refusal,
			run: atOnce8(post("/v1/completions", fmt.Sprintf(`{"model": "novels", "max_tokens": 1, "prompt": [%s]}`,
				strings.Join(times(250, `"`+strings.Repeat("The old lighthouse ", 2000)+`"`), ",")))),
		}, {
			name: "prompts/ids", about: "eight prompts of 250,000 token ids", goals: refusal,
			run: atOnce8(post("/v1/completions", `{"model": "novels", "max_tokens": 1, "prompt": [`+strings.Repeat("17,", 250_000)+`17]}`)),
		}, {
			name: "prompts/messages", about: "eight chats of 80,000 messages", goals: refusal,
			run: atOnce8(post("/v1/chat/completions", `{"model": "novels", "messages": [`+
				strings.Repeat(`{"role": "user", "content": "The old lighthouse stood"},`, 80_000)+`{"role": "user", "content": "The"}]}`)),
		}, {
			name: "prompts/embeddings", about: "eight texts of 10 MB to be embedded", goals: refusal,
			run: atOnce8(post("/v1/embeddings", strings.Replace(words, `"max_tokens": 1, "prompt"`, `"input"`, 1))),
		}, {
			// Whoever asks for the tokens of a long text gets them: the text need not fit.
			name: "prompts/left", about: "24 clients ask for the tokens of 10 MB of text, and leave",
			goals: goals{served: 24, cpu: 24 * 150 * time.Millisecond, grown: 768},
			run: func(ctx context.Context, s *scene) {
				body := `{"text": "` + strings.Repeat("The old lighthouse ", promptBytes/19) + `"}`
				s.leave(ctx, 250*time.Millisecond, times(24, post("/v1/engines/novels/tokenize", body))...)
			},
		},
	}
	for i := range list {
		list[i].lasts = 10 * time.Second // all are answered long before
	}
	return list
}

// atOnce8 makes a call eight times at the same time.
func atOnce8(c call) func(context.Context, *scene) {
	return func(ctx context.Context, s *scene) { s.atOnce(ctx, times(8, c)...) }
}

// leave makes calls in turn, each for so long, and waits a second for what the server still
// does for them.
func (s *scene) leave(ctx context.Context, after time.Duration, calls ...call) {
	var group sync.WaitGroup
	for i := range calls {
		if i%8 == 0 {
			group.Wait()
		}
		group.Go(func() {
			short, over := context.WithTimeout(ctx, after)
			defer over()
			s.send(short, calls[i])
		})
	}
	group.Wait()
	sleep(ctx, time.Second)
}

// promptOf is a request that continues a text without characters that JSON escapes.
func promptOf(text string) string {
	return `{"model": "novels", "max_tokens": 1, "prompt": "` + text + `"}`
}

// word returns n letters in an order that nothing can guess, and that is always the same.
func word(n int) string {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('a' + r.IntN(26))
	}
	return string(b)
}

// packed is a call that posts JSON, packed.
func packed(body string) call {
	return call{path: "/v1/completions", body: pack(body)}.zipped()
}

// pack packs a text as small as it gets.
func pack(text string) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = io.WriteString(z, text)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		panic(err) // nothing of that fails in memory
	}
	return b.Bytes()
}
