package calls

import (
	"testing"

	"glossa/pkg/grammar/automaton"
)

// Objects have bare keys in order, first those that are declared.
func TestMarkedObjects(t *testing.T) {
	for _, test := range []struct {
		schema  string
		yes, no []string
	}{
		{`{"properties":{"b":{"type":"integer"},"A":{"enum":["x",1,null]},"c":{"type":"string"}},"required":["b"]}`,
			[]string{`b:1`, `A:1,b:2`, `A:<|"|>x<|"|>,b:2,c:<|"|><|"|>`, `A:null,b:2`},
			[]string{``, `b:1,A:1`, `A:<|"|>1<|"|>,b:2`, `A:"x",b:2`, `b:1,c:null`, `b:1,d:1`, `"b":1`}},
		{`{"properties":{"o":{"type":"object","properties":{"z":{"type":"array","items":{"type":"string"}},"a":{"type":"boolean"}},"additionalProperties":false}}}`,
			[]string{``, `o:{}`, `o:{a:true}`, `o:{a:false,z:[]}`, `o:{z:[<|"|>}<|"|>,<|"|>b<|"|>]}`},
			[]string{`o:{z:[],a:true}`, `o:{x:1}`, `o:{a:true,}`, `o:{,a:true}`, `o:{<|"|>a<|"|>:true}`}},
		{`{"properties":{"o":{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":{"type":"string"},"maxProperties":2}}}`,
			[]string{`o:{}`, `o:{x y:<|"|><|"|>}`, `o:{a:1}`, `o:{a:1,é_2:<|"|>x<|"|>}`, `o:{x:<|"|>x<|"|>,y:<|"|><|"|>}`, `o:{aa:<|"|>x<|"|>}`},
			[]string{`o:{a:<|"|>x<|"|>}`, `o:{x:1}`, `o:{a:1,x:<|"|><|"|>,y:<|"|><|"|>}`, `o:{x:<|"|><|"|>,a:1}`, `o:{:<|"|><|"|>}`, `o:{ x:1}`, `o:{x:<|"|><|"|>,}`}},
		{`{"properties":{"o":{"type":"object","minProperties":1}}}`,
			[]string{`o:{a:{b:[1,{}]}}`, `o:{a:<|"|><tool_call|><|"|>,b:null}`, `o:{a:-1.5}`},
			[]string{`o:{}`, `o:{a}`, `o:{a:{"b":1}}`, `o:1`}},
		{`{"type":"object","properties":{"n":{"$ref":"#"},"v":{"type":"integer"}}}`,
			[]string{`n:{n:{v:1},v:2},v:3`, `n:{}`}, []string{`n:{v:1,n:{}}`, `n:1`}},
		{`{"properties":{"o":{"type":"object","patternProperties":{"^x":{"type":"integer"}},"additionalProperties":false}}}`,
			[]string{`o:{x:1,xy:2}`}, []string{`o:{y:1}`}},
		{`{"properties":{"o":{"type":"object","patternProperties":{"^:":{"type":"integer"}},"additionalProperties":false}}}`,
			[]string{`o:{}`}, []string{`o:{::1}`}},
	} {
		p, err := Compile(families(t)["gemma4"], []Tool{{Name: "f", Parameters: []byte(test.schema)}}, Form{Must: true, One: true}, automaton.Generating())
		if err != nil {
			t.Fatalf("%s: %v", test.schema, err)
		}
		check(t, p)
		written := func(arguments string) bool { return matches(p, `<|tool_call>call:f{`+arguments+`}<tool_call|>`) }
		for _, arguments := range test.yes {
			if !written(arguments) {
				t.Errorf("%s: %s does not match", test.schema, arguments)
			}
		}
		for _, arguments := range test.no {
			if written(arguments) {
				t.Errorf("%s: %s matches", test.schema, arguments)
			}
		}
	}
}
