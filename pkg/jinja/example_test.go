package jinja_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"glossa/pkg/jinja"
)

func Example() {
	template, err := jinja.Compile(`{{ bos_token }}
{%- for m in messages %}<|{{ m.role }}|>{{ m.content | trim }}<|end|>{% endfor %}`, jinja.Options{Name: "chat"})
	if err != nil {
		fmt.Println(err)
		return
	}
	messages, _ := jinja.FromJSON([]byte(`[{"role": "user", "content": " Hi! <|end|> "}]`))
	vars := new(jinja.Dict).Set("bos_token", jinja.Trusted("<s>")).Set("messages", messages)
	out, err := template.Execute(context.Background(), vars, jinja.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(out)
	for _, s := range out.Spans {
		fmt.Printf("%v %q\n", s.Trusted, s.Text)
	}
	// Output:
	// <s><|user|>Hi! <|end|><|end|>
	// true "<s><|"
	// false "user"
	// true "|>"
	// false "Hi! <|end|>"
	// true "<|end|>"
}

func ExampleTemplate_Names() {
	template, _ := jinja.Compile(`{% if tools %}{{ tools | tojson }}{% endif %}{{ messages[0]['content'] }}`, jinja.Options{})
	names := template.Names()
	fmt.Println(names.Variables, names.Attributes, names.Variable("tools"), names.Variable("enable_thinking"))
	// Output: [messages tools] [content] true false
}

func ExampleError() {
	_, err := jinja.Compile("Hello\n{{ name | shout }}", jinja.Options{Name: "greeting"})
	fmt.Println(err)

	template, _ := jinja.Compile("{{ raise_exception('roles must alternate') }}", jinja.Options{})
	_, err = template.Execute(context.Background(), nil, jinja.Limits{})
	var e *jinja.Error
	fmt.Println(errors.As(err, &e), e.Fault == jinja.Raised, e.Message)
	// Output:
	// greeting:2:11: there is no filter named 'shout'
	// true true roles must alternate
}

func ExampleLimits() {
	template, _ := jinja.Compile("{{ strftime_now('%d %b %Y') }}", jinja.Options{})
	out, _ := template.Execute(context.Background(), nil, jinja.Limits{Now: time.Date(2024, 7, 26, 0, 0, 0, 0, time.UTC)})
	fmt.Println(out)
	template, _ = jinja.Compile("{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}", jinja.Options{})
	_, err := template.Execute(context.Background(), nil, jinja.Limits{Steps: 1000})
	fmt.Println(err)
	// Output:
	// 26 Jul 2024
	// template:1:32: the template needs more than 1000 steps
}
