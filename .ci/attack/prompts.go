package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"
)

// promptBytes is the size of texts that nearly fill the largest body that routes of models
// accept, 10 MiB.
const promptBytes = 10_000_000

// promptAttacks send prompts that cannot fit, compressed and plain (point 2).
func promptAttacks() []attack {
	const ten = 10 * time.Second // more than any of them needs
	no := []string{"400", "413", "429"}
	// The server only decompresses and decodes the body, 10 MB of JSON each.
	plain := goals{only: no, refused: 8, cpu: 8 * 250 * time.Millisecond, grown: 768}
	zipped := goals{only: no, refused: 8, cpu: plain.cpu, grown: 256}
	// These are valid except for their compression.
	spaced := goals{only: []string{"200", "413", "429"}, cpu: plain.cpu, grown: 256}
	// chords does not know the words and drops them, so its prompt fits.
	ofAll := goals{only: []string{"200", "400", "413", "429"}, refused: 6, cpu: plain.cpu, grown: plain.grown}
	repeated := goals{only: []string{"400", "413", "429", "503", cut}, refused: 8, grown: plain.grown}
	// A text whose tokens are requested need not fit the context.
	left := goals{served: 24, cpu: 24 * 80 * time.Millisecond, grown: plain.grown}
	return []attack{
		{name: "gzip/words", about: "eight prompts of 10 MB, 25 KB packed", lasts: ten, goals: zipped, calls: repeat(8, packedWords)},
		{name: "gzip/letters", about: "eight prompts of one letter, ten million times", lasts: ten, goals: zipped, calls: repeat(8, letters)},
		{name: "gzip/spaces", about: "eight requests after 10 MB of spaces, 10 KB packed", lasts: ten, goals: spaced, calls: repeat(8, spaces)},
		{name: "gzip/more", about: "eight bodies of 200 MB, 200 KB packed", lasts: ten, goals: zipped, calls: repeat(8, more)},
		{name: "gzip/members", about: "eight bodies of 2,000 packed members, 100 MB together", lasts: ten, goals: zipped, calls: repeat(8, members)},
		{name: "gzip/nested", about: "eight bodies that are compressed twice, declared and not declared", lasts: ten, goals: zipped, calls: nested},
		{name: "gzip/again", about: "eight clients send packed prompts of 10 MB again and again", goals: repeated, calls: repeat(1, packedWords), run: repeatCalls(8)},
		{name: "prompts/words", about: "eight prompts of 10 MB, not packed", lasts: ten, goals: plain, calls: repeat(8, plainWords)},
		{name: "prompts/word", about: "eight prompts of one word of 10 MB", lasts: ten, goals: plain, calls: repeat(8, oneWord)},
		{name: "prompts/models", about: "eight prompts of 10 MB, two of each model", lasts: ten, goals: ofAll, calls: ofModels},
		{name: "prompts/list", about: "eight lists of 250 prompts of 40 KB each", lasts: ten, goals: plain, calls: repeat(8, listOfPrompts)},
		{name: "prompts/ids", about: "eight prompts of 250,000 token ids", lasts: ten, goals: plain, calls: repeat(8, ids)},
		{name: "prompts/messages", about: "eight chats of 80,000 messages", lasts: ten, goals: plain, calls: repeat(8, messages)},
		{name: "prompts/embeddings", about: "eight texts of 10 MB to be embedded", lasts: ten, goals: plain, calls: repeat(8, embeddings)},
		{name: "prompts/again", about: "eight clients send prompts of 10 MB again and again", goals: repeated, calls: repeat(1, plainWords), run: repeatCalls(8)},
		{name: "prompts/left", about: "24 clients request the tokens of 10 MB of text and disconnect", lasts: ten, goals: left, calls: repeat(24, tokens), run: cancelCalls(250 * time.Millisecond)},
	}
}

// sentence is repeated in long texts; all models but chords know its words.
const sentence = "The old lighthouse "

// words returns a request with a prompt of 10 MB.
func words() string { return promptOf(strings.Repeat(sentence, promptBytes/len(sentence))) }

func packedWords() call { return packed(words()) }

func plainWords() call { return post("/v1/completions", words()) }

func oneWord() call { return post("/v1/completions", promptOf(word(promptBytes))) }

func letters() call { return packed(promptOf(strings.Repeat("a", promptBytes))) }

func spaces() call { return packed(strings.Repeat(" ", promptBytes) + shortRows) }

func more() call { return packed(promptOf(strings.Repeat("a", 20*promptBytes))) }

func members() call {
	begin, member := pack(`{"model": "novels", "prompt": "`), pack(strings.Repeat("a", 50_000))
	return call{path: "/v1/completions", body: append(begin, bytes.Repeat(member, 2000)...)}.zipped()
}

func nested() []call {
	c := call{path: "/v1/completions", body: pack(string(more().body))}
	return append(times(4, c.zipped()), times(4, c.with("Content-Encoding", "gzip, gzip"))...)
}

func ofModels() (calls []call) {
	for _, model := range []string{"novels", "abc", "chords", "forms"} {
		calls = append(calls, times(2, post("/v1/completions", strings.Replace(words(), "novels", model, 1)))...)
	}
	return calls
}

func listOfPrompts() call {
	prompt := `"` + strings.Repeat(sentence, 2000) + `"`
	return post("/v1/completions", fmt.Sprintf(`{"model": "novels", "max_tokens": 1, "prompt": [%s]}`, strings.Join(times(250, prompt), ",")))
}

func ids() call {
	return post("/v1/completions", `{"model": "novels", "max_tokens": 1, "prompt": [`+strings.Repeat("17,", 250_000)+`17]}`)
}

func messages() call {
	message := `{"role": "user", "content": "The old lighthouse stood"}`
	return post("/v1/chat/completions", `{"model": "novels", "messages": [`+strings.Repeat(message+",", 80_000)+message+`]}`)
}

func embeddings() call {
	return post("/v1/embeddings", strings.Replace(words(), `"max_tokens": 1, "prompt"`, `"input"`, 1))
}

func tokens() call {
	return post("/v1/engines/novels/tokenize", `{"text": "`+strings.Repeat(sentence, promptBytes/len(sentence))+`"}`)
}

// promptOf returns a request to continue a text without characters that JSON escapes.
func promptOf(text string) string {
	return `{"model": "novels", "max_tokens": 1, "prompt": "` + text + `"}`
}

// word returns n pseudo-random letters, always the same.
func word(n int) string {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('a' + r.IntN(26))
	}
	return string(b)
}

// packed returns a call that posts compressed JSON.
func packed(body string) call {
	return call{path: "/v1/completions", body: pack(body)}.zipped()
}

// pack compresses a text at the best compression level.
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
		panic(err) // compression in memory does not fail
	}
	return b.Bytes()
}
