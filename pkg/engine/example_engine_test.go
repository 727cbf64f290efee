package engine_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

// starter opens one of the models in package starter.
func starter(name string) *engine.Engine {
	model, err := arch.OpenPath("../starter/runs/" + name)
	if err != nil {
		log.Fatal(err)
	}
	e, err := engine.New(model, engine.Config{Name: name})
	if err != nil {
		log.Fatal(err)
	}
	return e
}

// The text follows a JSON Schema, also if MaxTokens cuts it short.
func ExampleEngine_Generate_schema() {
	e := starter("forms")
	request := &llm.Request{
		Prompts: []llm.Prompt{llm.Text("Thea is 34 years old.\n")},
		Params: llm.Params{
			MaxTokens: new(60),
			Schema: []byte(`{
				"type": "object",
				"properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
				"required": ["name", "age"],
				"additionalProperties": false
			}`),
		},
	}
	rows, _, err := llm.Collect(e.Generate(context.Background(), request), request.Rows())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rows[0].Text)
	fmt.Println(rows[0].Guarantee)
	// Output:
	// {"name":"Thea","age":34}
	// enforced
}

// A grammar in llama.cpp's notation constrains the text as a regular expression would.
func ExampleEngine_Generate_grammar() {
	e := starter("forms")
	request := &llm.Request{
		Prompts: []llm.Prompt{llm.Text("The date is ")},
		Params: llm.Params{
			MaxTokens: new(20),
			Grammar:   new(`root ::= [12] [0-9]{3} "-" ("0" [1-9] | "1" [0-2])`),
		},
	}
	rows, _, err := llm.Collect(e.Generate(context.Background(), request), request.Rows())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rows[0].Text, rows[0].Guarantee)
	// Output:
	// 2656-10 enforced
}

// A prompt with messages is a chat. The model's chat template writes them as one text; base
// models, which have none, read their contents.
func ExampleEngine_Generate_chat() {
	e := starter("novels")
	request := &llm.Request{
		Prompts: []llm.Prompt{{Messages: []llm.Message{
			{Role: "user", Parts: []llm.Part{{Text: "It was a dark night, and"}}},
		}}},
		Params: llm.Params{MaxTokens: new(100), Stop: []string{"."}},
	}
	rows, usage, err := llm.Collect(e.Generate(context.Background(), request), request.Rows())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rows[0].Text)
	fmt.Println(rows[0].Finish, "after", usage.Output, "tokens")
	// Output:
	// Hilda Kettle came to Lower Green with a heavy hat and ten florins
	// stop after 14 tokens
}

// Score compares continuations: the model expects the first one.
func ExampleEngine_Score() {
	e := starter("novels")
	var logprobs []float64
	for _, continuation := range []string{" sea", " parliament"} {
		score, _, err := e.Score(context.Background(), &llm.ScoreRequest{
			Prompt: llm.Text("The ship sailed across the"), Continuation: continuation,
		})
		if err != nil {
			log.Fatal(err)
		}
		logprobs = append(logprobs, score.Logprob)
	}
	fmt.Println(logprobs[0] > logprobs[1])
	// Output:
	// true
}

// Embed returns a vector for each prompt; the cosine of two vectors compares their texts.
func ExampleEngine_Embed() {
	e := starter("novels")
	embeddings, usage, err := e.Embed(context.Background(), &llm.EmbedRequest{Prompts: []llm.Prompt{
		llm.Text("The boat reached the harbour."),
		llm.Text("The ship reached the harbour."),
		llm.Text("She wrote a long letter."),
	}})
	if err != nil {
		log.Fatal(err)
	}
	vector := func(i int) []float32 { return embeddings[i].Layers[0].Vectors[0] }
	fmt.Println(len(vector(0)), "dimensions,", usage.Input, "tokens")
	fmt.Println(cosine(vector(0), vector(1)) > cosine(vector(0), vector(2)))
	// Output:
	// 128 dimensions, 18 tokens
	// true
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}

// Open makes the engine for any kind of model; As finds what it can do.
func ExampleOpen() {
	for _, name := range []string{"novels", "phrases"} {
		model, err := arch.OpenPath("../starter/runs/" + name)
		if err != nil {
			log.Fatal(err)
		}
		backend, err := engine.Open(model, engine.Config{Name: name})
		if err != nil {
			log.Fatal(err)
		}
		_, err = llm.As[llm.Translator](backend)
		fmt.Println(name, "translates:", err == nil)
	}
	// Output:
	// novels translates: false
	// phrases translates: true
}

// The weights of encoder-decoders translate.
func ExampleTranslator_Translate() {
	model, err := arch.OpenPath("../starter/runs/phrases")
	if err != nil {
		log.Fatal(err)
	}
	t, err := engine.NewTranslator(model, engine.Config{})
	if err != nil {
		log.Fatal(err)
	}
	translations, _, err := t.Translate(context.Background(), &llm.TranslateRequest{
		Texts: []string{"My sister is reading a book in the garden."}, Source: "en", Target: "fr",
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(translations[0].Text)
	// Output:
	// Ma sœur lit un livre dans le jardin.
}

// The models of a process share its threads, its memory and the turns of its clients.
func ExampleConfig() {
	shared := engine.Config{
		Format: transformer.Q8_0, // quantise the weights to 8 bits while they are read
		Team:   transformer.NewTeam(2),
		Queue:  engine.NewQueue(2, 100, 4<<30), // 2 at once, 100 waiting, 4 GiB
	}
	for _, name := range []string{"novels", "forms"} {
		model, err := arch.OpenPath("../starter/runs/" + name)
		if err != nil {
			log.Fatal(err)
		}
		cfg := shared
		cfg.Name = name
		e, err := engine.New(model, cfg)
		if err != nil {
			log.Fatal(err)
		}
		ctx := llm.WithSender(context.Background(), "a client") // each gets a fair share
		tokens, err := e.Tokenize(ctx, []llm.Part{{Text: "The sea"}}, true)
		fmt.Println(name, e.Parameters(), "weights,", len(tokens), "tokens", err)
	}
	// Output:
	// novels 1333504 weights, 2 tokens <nil>
	// forms 846080 weights, 7 tokens <nil>
}
