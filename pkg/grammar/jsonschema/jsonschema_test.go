package jsonschema

import (
	"fmt"
	"strings"
	"testing"

	"glossa/pkg/grammar/automaton"
)

// An example is a schema with texts that are in its program and texts that are not.
type example struct{ schema, in, out string } // texts are separated by spaces

func try(t *testing.T, examples []example) {
	t.Helper()
	for _, f := range examples {
		p, err := Compile([]byte(f.schema), automaton.Limits{})
		if err != nil {
			t.Errorf("%s: %v", f.schema, err)
			continue
		}
		for _, text := range strings.Fields(f.in) {
			if !matches(p, text) {
				t.Errorf("%s: %s is not in the program", f.schema, text)
			}
		}
		for _, text := range strings.Fields(f.out) {
			if matches(p, text) {
				t.Errorf("%s: %s is in the program", f.schema, text)
			}
		}
	}
}

func TestScalars(t *testing.T) {
	try(t, []example{
		{`true`, `null true 1 -1.5e3 "x" [] [1,[]] {} {"a":{"b":[]}}`, `nul [1,] {"a":1,"a":2} 01 "\x"`},
		{`{"type":"null"}`, `null`, `true 0`},
		{`{"type":["boolean","null"]}`, `true false null`, `0 "true"`},
		{`{"type":"integer"}`, `0 -7 12345678901234567890`, `1.0 1e3 01 +1 -`},
		{`{"type":"number"}`, `0 -7 1.5 1e3 -0.25E-7`, `1. .5 "1"`},
		{`{"type":"str"}`, `"x" "\u00e9" "\ud83d\ude00"`, `1 "\ud83d" "`},
		{`{"type":["int","bool"]}`, `1 true`, `1.5 "x"`},
		{`{"type":"float"}`, `1 1.5`, `"x"`},
		{`{"type":"integer","minimum":-3,"exclusiveMaximum":12}`, `-3 0 11`, `-4 12 100`},
		{`{"type":"integer","minimum":1,"exclusiveMinimum":true,"maximum":3,"exclusiveMaximum":false}`, `2 3`, `1 4`},
		{`{"type":"number","minimum":0.5,"maximum":1}`, `0.5 0.75 1 1.0`, `0.49 1.01 2`},
		{`{"type":"number","minimum":2,"maximum":9,"not":{"enum":[3,4.5]}}`, `2 3.1 4 4.51 9`, `3 3.0 4.5 4.50 1 10`},
		{`{"type":"integer","multipleOf":5,"not":{"const":10}}`, `0 5 15`, `10 3`},
		{`{"type":"number","not":{"type":"integer"}}`, `0.5 -1.25`, `0 1.0 2`},
		{`{"type":"string","minLength":2,"maxLength":3}`, `"ab" "éèê" "\n\u00e9" "\ud83d\ude00x"`, `"a" "abcd" "\n"`},
		{`{"type":"string","maxLength":0}`, `""`, `"a"`},
		{`{"type":"string","pattern":"^[a-c]+$","maxLength":2}`, `"a" "cc"`, `"" "abc" "d"`},
		{`{"type":"string","pattern":"b","minLength":0}`, `"abc" "b"`, `"ac"`},
		{`{"type":"string","pattern":"^a*$","minLength":2,"maxLength":3}`, `"aa" "aaa"`, `"" "a" "aaaa" "bb"`},
		{`{"type":"string","pattern":".*"}`, `"" "x\u00e9"`, `1`},
		{`{"type":"string","not":{"pattern":"^a"}}`, `"" "ba"`, `"a" "ab"`},
		{`{"type":"string","allOf":[{"pattern":"^a"},{"pattern":"b$"}]}`, `"ab" "axb"`, `"a" "b"`},
		{`{"type":"string","not":{"enum":["a","b",1]}}`, `"" "c" "ab"`, `"a" "b" 1`},
		{`{"type":"string","format":"date"}`, `"2024-02-29"`, `"2023-02-30" "x"`},
		{`{"type":"string","format":"colour"}`, `"x"`, `1`},
		{`{"minLength":3}`, `1 "abc" []`, `"ab"`},
		{`{"$schema":"http://json-schema.org/draft-03/schema#","type":"string","format":"ip-address"}`, `"1.2.3.4"`, `"x" "1.2.3"`},
		{`{"$schema":"http://json-schema.org/draft-03/schema#","type":"string","format":"host-name"}`, `"a.b"`, `"a_b"`},
		{`{"$schema":"http://json-schema.org/draft-03/schema#","type":"string","format":"color"}`, `"x"`, `1`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","type":"string","format":"ip-address"}`, `"1.2.3.4" "x"`, `1`},
	})
}

func TestEnums(t *testing.T) {
	try(t, []example{
		{`{"enum":["a",1,null,true,[1,{"b":2,"a":1}]]}`, `"a" 1 null true [1,{"b":2,"a":1}]`, `"b" 2 false [1,{"a":1,"b":2}] []`},
		{`{"const":"é\"\n"}`, `"é\"\n"`, `"é" "\u00e9\"\n"`},
		{`{"enum":[1.0,1,2.50,1e2,-0.0]}`, `1 2.5 100 0`, `1.0 2.50 1e2 -0 -0.0`},
		{`{"enum":["a","b",3],"type":"string"}`, `"a" "b"`, `3`},
		{`{"enum":[1,2,3,4],"minimum":2,"not":{"const":3}}`, `2 4`, `1 3`},
		{`{"allOf":[{"enum":["a","b"]},{"enum":["b","c"]}]}`, `"b"`, `"a" "c"`},
		{`{"enum":[{"a":1},{"a":2},{"b":1}],"required":["a"],"properties":{"a":{"maximum":1}}}`, `{"a":1}`, `{"a":2} {"b":1}`},
		{`{"enum":[[1,1],[1,2]],"uniqueItems":true}`, `[1,2]`, `[1,1]`},
		{`{"enum":[[1],["a"]],"contains":{"type":"string"}}`, `["a"]`, `[1]`},
		{`{"anyOf":[{"const":"a"},{"type":"integer"}]}`, `"a" 5`, `"b"`},
		{`{"not":{"enum":[[1,"a"],{"a":1,"b":[2]}]}}`, `1 [] [1] [1,"b"] [1,"a",2] {} {"a":1} {"b":2,"a":1} {"a":1,"c":[2]} {"a":1,"b":[2],"c":3} {"a":2,"b":[2]}`, `[1,"a"] {"a":1,"b":[2]} {"b":[2],"a":1}`},
		{`{"not":{"enum":[null,true,[],{}]}}`, `false 1 "x" [1] {"a":1}`, `null true [] {}`},
	})
}

func TestArrays(t *testing.T) {
	try(t, []example{
		{`{"type":"array"}`, `[] [1,"a",[null]]`, `{} [1,]`},
		{`{"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":2}`, `[1] [1,2]`, `[] [1,2,3] ["a"]`},
		{`{"type":"array","items":false}`, `[]`, `[1]`},
		{`{"type":"array","prefixItems":[{"const":1},{"const":"a"}]}`, `[] [1] [1,"a"] [1,"a",null]`, `[2] [1,1]`},
		{`{"type":"array","prefixItems":[{"const":1}],"items":{"const":2}}`, `[] [1] [1,2,2]`, `[2] [1,1]`},
		{`{"type":"array","items":[{"const":1}],"additionalItems":false,"minItems":1}`, `[1]`, `[] [1,1]`},
		{`{"type":"array","items":{"const":1},"additionalItems":false}`, `[1,1]`, `[2]`},
		{`{"type":"array","prefixItems":[{"const":1},false,{}]}`, `[] [1]`, `[1,1]`},
		{`{"type":"array","allOf":[{"prefixItems":[{"minimum":1}]},{"items":{"type":"integer"}}]}`, `[1,0] []`, `[0] [1,"a"]`},
		{`{"type":"array","uniqueItems":true,"maxItems":1}`, `[] [1]`, `[1,2]`},
		{`{"type":"array","allOf":[{"maxItems":3},{"maxItems":1},{"maxItems":2}]}`, `[] [1]`, `[1,2]`},
		{`{"type":"array","uniqueItems":false}`, `[1,1]`, ``},
		{`{"type":"array","uniqueItems":true}`, `[] [1,2,"1"] [[1],[2]] [{"a":1},{"a":2}]`, `[1,1] [1,1.0] [{"a":1,"b":2},{"b":2,"a":1}] [[1],[1]] ["\u0061","a"]`},
		{`{"type":"array","uniqueItems":true,"items":{"enum":["a","b",1]},"minItems":3}`, `["a",1,"b"]`, `["a","b","a"] ["a","b"] ["a",1,"b","a"]`},
		{`{"type":"array","uniqueItems":true,"items":{"type":"array","items":{"type":"string"},"uniqueItems":true}}`, `[["a"],["b","a"]]`, `[["a"],["a"]] [["a","a"]]`},
		{`{"type":"array","uniqueItems":true,"items":{"$ref":"#"}}`, `[[],[[]]]`, `[[],[]]`},
		{`{"type":"array","contains":{"const":1},"minContains":0}`, `[] [2]`, ``},
		{`{"type":["array","null"],"contains":{},"maxItems":0}`, `null`, `[] [1]`},
		{`{"type":"array","not":{"contains":{"const":1}}}`, `[] [2]`, `[1] [2,1]`},
		{`{"type":"array","contains":{},"uniqueItems":true}`, `[1] [1,2]`, `[] [1,1] [1,2,1]`},
		{`{"type":"array","contains":{"type":"string"},"minContains":2,"minItems":3,"uniqueItems":true}`, `["a","b",1] [1,2,"a","b"]`, `["a","b"] ["a",1,2] ["a","a",1] ["a","b",1,1]`},
		{`{"type":"array","contains":{"enum":["a","b"]},"minContains":2,"maxContains":2,"uniqueItems":true,"items":{"enum":["a","b",1,2]}}`, `["b","a"] [1,"a",2,"b"]`, `["a"] ["a","a"] [1,"a",1,"b"]`},
		{`{"type":"array","uniqueItems":true,"minItems":1,"items":{"type":"string"},"not":{"items":{"maxLength":2}}}`, `["abc"] ["a","abc","b"]`, `[] ["ab"] ["abc","abc"] ["a","a","abc"]`},
		{`{"type":"array","uniqueItems":true,"allOf":[{"contains":{"minimum":3}},{"contains":{"maximum":5}}],"items":{"enum":[1,4,7]}}`, `[4] [1,7] [7,1,4]`, `[1] [7] [4,4]`},
		{`{"type":"array","contains":{"const":1}}`, `[1] [2,1] [1,1,"a"]`, `[] [2]`},
		{`{"type":"array","contains":{"const":1},"minContains":2,"maxContains":2,"maxItems":3}`, `[1,1] [1,2,1]`, `[1] [1,1,1] [1,1,2,2]`},
		{`{"type":"array","contains":{"type":"null"},"minContains":0,"maxContains":1,"minItems":2}`, `[1,2] [null,1]`, `[null,null] [1]`},
		{`{"type":"array","not":{"items":{"type":"integer"}}}`, `["a"] [1,"a"] ["a",1]`, `[] [1] [1,2]`},
		{`{"type":"array","prefixItems":[{}],"not":{"prefixItems":[{}],"items":{"type":"integer"}}}`, `["a","b"] [1,2,"a"]`, `["a"] ["a",1]`},
		{`{"type":"array","allOf":[{"contains":{"const":1}},{"contains":{"const":2}}]}`, `[1,2] [2,3,1]`, `[1] [2,2]`},
		{`{"type":"array","not":{"contains":{"const":1},"minContains":2}}`, `[] [1] [2,1]`, `[1,1]`},
		{`{"oneOf":[{"type":"array","items":{"type":"integer"}},{"type":"array","items":{"type":["integer","string"]}}]}`, `["a"] [1,"a"]`, `[] [1] [null]`},
		{`{"type":"array","unevaluatedItems":false,"prefixItems":[{"const":1}]}`, `[] [1]`, `[1,2]`},
	})
}

func TestObjects(t *testing.T) {
	try(t, []example{
		{`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"boolean"}},"required":["b"],"additionalProperties":false}`,
			`{"a":1,"b":true} {"b":false}`, `{} {"a":1} {"b":true,"a":1} {"b":true,"c":1} {"b":1}`},
		{`{"type":"object","properties":{"a":{"const":1}}}`, `{} {"a":1} {"a":1,"b":2} {"c":1}`, `{"a":2} {"b":2,"a":1} {"b":1,"b":2}`},
		{`{"type":"object","required":["x","y"],"properties":{"y":{"const":1}},"additionalProperties":{"type":"string"}}`,
			`{"y":1,"x":"s"} {"y":1,"x":"s","z":"t"}`, `{"x":"s","y":1} {"y":1} {"y":1,"x":2}`},
		{`{"type":"object","patternProperties":{"^a":{"type":"integer"},"z$":{"minimum":5}},"additionalProperties":false}`,
			`{} {"ab":1} {"z":"s"} {"az":7} {"az":7,"a":1}`, `{"az":1} {"az":"s"} {"z":1} {"b":1}`},
		{`{"type":"object","patternProperties":{"^a":{"type":"integer"}},"additionalProperties":{"type":"string"},"properties":{"ab":{"minimum":3},"c":{}}}`,
			`{"ab":3,"c":null,"a":1,"d":"s"}`, `{"ab":1} {"ab":"s"} {"a":"s"} {"d":1}`},
		{`{"type":"object","patternProperties":{".*":{"type":"integer"}},"additionalProperties":false}`, `{"x":1} {"":2}`, `{"x":"s"}`},
		{`{"type":"object","propertyNames":{"maxLength":2},"properties":{"abc":{},"ab":{"const":1}}}`, `{} {"ab":1,"x":2}`, `{"abc":1} {"xyz":1} {"ab":2}`},
		{`{"type":"object","propertyNames":{"enum":["a","b",1]}}`, `{} {"b":1,"a":2}`, `{"c":1}`},
		{`{"type":"object","propertyNames":{"anyOf":[{"pattern":"^x"},{"minLength":3}]}}`, `{"x":1,"abc":2}`, `{"ab":1}`},
		{`{"type":"object","propertyNames":false}`, `{}`, `{"a":1}`},
		{`{"type":"object","minProperties":1,"maxProperties":2}`, `{"a":1} {"a":1,"b":2}`, `{} {"a":1,"b":2,"c":3}`},
		{`{"type":"object","properties":{"a":{},"b":{}},"minProperties":2,"additionalProperties":false}`, `{"a":1,"b":2}`, `{"a":1} {}`},
		{`{"type":"object","properties":{"a":false,"b":{"const":1}}}`, `{} {"b":1} {"c":1}`, `{"a":1}`},
		{`{"type":"object","properties":{"\"é\n":{"const":1}}}`, `{"\"é\n":1}`, `{"\"\u00e9\n":1}`},
		{`{"type":"object","unevaluatedProperties":false,"properties":{"a":{}}}`, `{} {"a":1}`, `{"b":1}`},
		{`{"properties":{"a":{"const":1}},"allOf":[{"additionalProperties":false,"properties":{"a":{},"b":{"const":2}}}],"type":"object"}`,
			`{"a":1,"b":2} {}`, `{"a":2} {"c":1} {"b":2,"a":1}`},
		{`{"type":"object","allOf":[{"properties":{"a":{"type":"integer"}}},{"additionalProperties":{"maximum":3}}]}`, `{"a":2} {"b":"s"}`, `{"a":5} {"a":"s"} {"b":5}`},
		{`{"type":"object","allOf":[{"patternProperties":{"^a":{"type":"integer"}}},{"additionalProperties":{"maximum":3}}]}`, `{"a":2,"b":"s"}`, `{"a":5} {"a":"s"} {"b":5}`},
		{`{"type":"object","allOf":[{"patternProperties":{"^a":{"type":"integer"}}},{"patternProperties":{"^a":{"minimum":3}},"additionalProperties":{"const":0}}]}`,
			`{"a":3,"b":0}`, `{"a":2} {"a":"s"} {"b":1}`},
	})
}

func TestUnevaluated(t *testing.T) {
	try(t, []example{
		{`{"type":"object","$ref":"#/$defs/x","properties":{"b":{}},"unevaluatedProperties":false,"$defs":{"x":{"properties":{"a":{"const":1}},"patternProperties":{"^p":{}}}}}`,
			`{} {"b":2,"a":1} {"b":2,"a":1,"pq":3}`, `{"a":2} {"c":1} {"b":2,"c":1}`},
		{`{"type":"object","allOf":[{"properties":{"a":{}}},{"allOf":[{"properties":{"b":{}}}]}],"unevaluatedProperties":{"type":"null"}}`, `{"a":1,"b":2,"c":null}`, `{"a":1,"c":3}`},
		{`{"type":"object","allOf":[{"properties":{"a":{}}},{"unevaluatedProperties":false}]}`, `{}`, `{"a":1} {"b":1}`},
		{`{"type":"object","allOf":[{"properties":{"a":{}},"unevaluatedProperties":true}],"unevaluatedProperties":false}`, `{"a":1} {"b":1}`, ``},
		{`{"type":"object","properties":{"a":{}},"not":{"required":["b"],"properties":{"b":{}}},"unevaluatedProperties":false}`, `{} {"a":1}`, `{"c":1} {"b":1}`},
		{`{"type":"object","not":{"not":{"properties":{"a":{}},"required":["a"]}},"unevaluatedProperties":{"const":1}}`, `{"a":1} {"a":1,"b":1}`, `{} {"a":2}`},
		{`{"type":"object","anyOf":[{"properties":{"a":{"const":1}},"required":["a"]},{"properties":{"b":{"const":1}},"required":["b"]},{"required":["c"]}],"properties":{"c":{}},"unevaluatedProperties":false}`,
			`{"a":1} {"b":1} {"a":1,"b":1} {"c":2,"a":1} {"c":2,"b":1} {"c":2} {"c":2,"a":1,"b":1}`, `{} {"a":1,"b":2} {"a":2,"b":1} {"c":2,"a":2} {"c":2,"d":1}`},
		{`{"type":"object","anyOf":[{},{"properties":{"a":{"const":1}}}],"unevaluatedProperties":false}`, `{} {"a":1}`, `{"a":2} {"b":1}`},
		{`{"type":"object","oneOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}],"unevaluatedProperties":false}`, `{"a":1} {"b":1}`, `{} {"a":1,"b":1} {"a":1,"c":1}`},
		{`{"type":"object","oneOf":[{"properties":{"a":{"const":1}},"required":["a"]},{"properties":{"a":{"const":2},"b":{}},"required":["a"]}],"unevaluatedProperties":{"type":"null"}}`,
			`{"a":1} {"a":2,"b":1} {"a":1,"b":null} {"a":2,"c":null}`, `{"a":1,"b":1} {"a":2,"c":1} {"a":3}`},
		{`{"type":"object","if":{"properties":{"a":{"const":1}},"required":["a"]},"then":{"properties":{"b":{}}},"else":{"properties":{"c":{}}},"unevaluatedProperties":false}`,
			`{"a":1} {"a":1,"b":1} {"c":1} {}`, `{"a":2} {"a":1,"c":1} {"b":1}`},
		{`{"type":"object","if":{"properties":{"a":{"const":1}}},"unevaluatedProperties":false}`, `{} {"a":1}`, `{"a":2} {"b":1}`},
		{`{"type":"object","properties":{"a":{}},"dependentSchemas":{"a":{"properties":{"b":{}}}},"unevaluatedProperties":false}`, `{} {"a":1} {"a":1,"b":1}`, `{"b":1} {"a":1,"c":1}`},
		{`{"type":"object","properties":{"n":{"$ref":"#"}},"allOf":[{"properties":{"v":{"const":1}}}],"unevaluatedProperties":false}`, `{"n":{"n":{"v":1}},"v":1}`, `{"n":{"w":1}} {"w":1}`},
		{`{"type":"object","properties":{"a":{}},"not":{"allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false}}`, `{"b":1} {"a":1,"b":1}`, `{} {"a":1}`},
		{`{"type":"object","not":{"anyOf":[{"properties":{"a":{"const":1}}},{"properties":{"b":{"const":1}}}],"unevaluatedProperties":false}}`,
			`{"c":1} {"b":2,"a":1} {"a":2,"b":1} {"a":2} {"a":2,"b":2} {"c":1,"a":1}`, `{} {"a":1} {"b":1} {"a":1,"b":1}`},
		{`{"type":"array","not":{"contains":{"type":"string"},"unevaluatedItems":{"type":"null"}}}`, `[] [1] ["a",1]`, `["a"] ["a",null]`},
		{`{"enum":[{"a":1},{"b":1},{"a":1,"c":1}],"anyOf":[{"properties":{"a":{}}},true],"unevaluatedProperties":false}`, `{"a":1}`, `{"b":1} {"a":1,"c":1}`},
		{`{"type":"array","allOf":[{"prefixItems":[{"const":1}]},{"prefixItems":[{},{"const":2}]}],"unevaluatedItems":{"type":"null"}}`, `[] [1] [1,2] [1,2,null]`, `[2] [1,3] [1,2,3]`},
		{`{"type":"array","contains":{"type":"string"},"unevaluatedItems":{"type":"null"}}`, `["a"] [null,"a",null,"b"]`, `[] [null] ["a",1]`},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"array","contains":{"minLength":2},"unevaluatedItems":{"type":"string","maxLength":3}}`, `["ab"] ["","abc"]`, `[] ["a"] [1] ["abcd"]`},
		{`{"type":"array","anyOf":[{"prefixItems":[{"const":1}]},{"prefixItems":[{},{"const":2}]}],"unevaluatedItems":false}`, `[] [1] [1,2] [3,2] [3]`, `[3,1] [1,2,3] [1,3]`},
		{`{"type":"array","allOf":[{"items":{}}],"unevaluatedItems":false}`, `[] [1,2]`, ``},
	})
}

func TestLogic(t *testing.T) {
	try(t, []example{
		{`{"anyOf":[{"type":"string"},{"type":"integer","minimum":3},{"type":"null"}]}`, `"a" 3 null`, `2 true`},
		{`{"type":"object","properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["b"]}],"additionalProperties":false}`,
			`{"a":1} {"b":1} {"a":1,"b":1}`, `{}`},
		{`{"type":"object","properties":{"a":{},"b":{}},"oneOf":[{"required":["a"]},{"required":["b"]}],"additionalProperties":false}`,
			`{"a":1} {"b":1}`, `{} {"a":1,"b":1}`},
		{`{"oneOf":[{"type":"integer"},{"minimum":2}]}`, `1 2.5 "x" null`, `3 1.5`},
		{`{"oneOf":[{"maximum":2,"type":"integer"},{"maximum":5,"type":"integer"}]}`, `3 5`, `2 6`},
		{`{"oneOf":[{"type":"string","pattern":"^a"},{"type":"string","pattern":"^[bc]"}]}`, `"a" "c"`, `"d"`},
		{`{"oneOf":[{"type":"array","items":{"type":"string"},"minItems":1},{"type":"array","items":{"type":"integer"},"minItems":1}]}`, `["a"] [1]`, `[] [1,"a"]`},
		{`{"type":"object","oneOf":[{"properties":{"a":{}},"additionalProperties":false},{"properties":{"b":{}},"additionalProperties":false}]}`, `{"a":1} {"b":1}`, `{} {"a":1,"b":2}`},
		{`{"type":"object","properties":{"a":{},"b":{}},"additionalProperties":false,"not":{"properties":{"a":{}},"additionalProperties":{"type":"null"}}}`, `{"b":1} {"a":1,"b":2}`, `{} {"a":1} {"b":null}`},
		{`{"oneOf":[{"required":["k"],"properties":{"k":{"const":1},"a":{}},"additionalProperties":false},{"required":["k"],"properties":{"k":{"const":2}},"additionalProperties":{"type":"null"}}]}`,
			`{"k":1,"a":5} {"k":2,"a":null}`, `1 null {} {"k":1,"b":null} {"k":2,"a":5}`},
		{`{"type":"number","not":{"multipleOf":2}}`, `1 2.5 -3 0.1`, `2 2.0 0 -4.00 1e1 0.0`},
		{`{"type":"integer","minimum":-3,"maximum":9,"oneOf":[{"multipleOf":3},{"multipleOf":2}]}`, `3 2 9 -2 -3`, `0 6 1 12`},
		{`{"type":"object","not":{"additionalProperties":{"type":"null"}}}`, `{"a":1} {"a":1,"b":null}`, `{} {"a":null}`},
		{`{"type":"object","properties":{"a":{},"b":{"type":"integer"}},"not":{"properties":{"a":{}},"additionalProperties":{"type":"integer","minimum":3}}}`,
			`{"b":1} {"a":1,"c":2} {"b":5,"c":1}`, `{} {"a":1} {"b":3} {"b":3,"c":4}`},
		{`{"type":"object","not":{"patternProperties":{"^a":{"type":"integer"}}}}`, `{"ab":"x"} {"a":"x","b":1}`, `{} {"a":1} {"b":"x"}`},
		{`{"type":"object","properties":{"x":{}},"not":{"propertyNames":{"maxLength":2}}}`, `{"abc":1} {"x":1,"abc":1}`, `{} {"x":1} {"ab":1}`},
		{`{"type":"object","not":{"patternProperties":{"^a":{}},"additionalProperties":false}}`, `{"b":1} {"b":1,"ab":2}`, `{} {"ab":1}`},
		{`{"oneOf":[{"type":"object","additionalProperties":{"type":"string"}},{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}]}`,
			`{} {"b":"x"} {"a":"x"} {"a":1} {"a":1,"b":"x"}`, `{"b":1} 1`},
		{`{"type":"object","not":{"anyOf":[{"additionalProperties":{"type":"null"}},{"propertyNames":{"maxLength":1}}]}}`,
			`{"ab":1} {"a":1,"bc":null} {"a":1,"bc":2,"d":3}`, `{} {"a":1} {"ab":null} {"a":1,"b":2}`},
		{`{"type":"object","oneOf":[{"additionalProperties":{"type":"string"}},{"additionalProperties":{"type":"integer"}},{"additionalProperties":{"type":["string","null"]}}]}`,
			`{"a":1} {"a":null} {"a":null,"b":"x"}`, `{} {"a":"x"} {"a":1,"b":"x"} {"a":1,"b":null}`},
		{`{"type":"object","not":{"anyOf":[{"patternProperties":{"^a$":{"type":"null"}}},{"patternProperties":{"^b$":{"type":"null"}}}]},"additionalProperties":{"type":["integer","null"]}}`,
			`{"a":1,"b":1} {"a":1,"b":1,"c":2}`, `{} {"a":1} {"b":1} {"a":1,"b":null}`},
		{`{"type":"object","not":{"anyOf":[{"propertyNames":{"not":{"const":"a"}}},{"patternProperties":{"^a$":{"type":"null"}}}]}}`, `{"a":1} {"a":1,"b":2}`, `{} {"b":1} {"a":null}`},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"},"b":{}},"oneOf":[{"properties":{"a":{"$ref":"#/$defs/a"}},"required":["a"]},{"required":["b"]}],"$defs":{"a":{"type":"array","uniqueItems":true,"minItems":1}}}`,
			`{"a":[1,2]} {"b":2}`, `{} {"a":[1,1]} {"a":[1],"b":2} {"a":[],"b":2}`},
		{`{"type":"object","not":{"anyOf":[{"propertyNames":{"not":{"const":"a"}}},{"propertyNames":{"not":{"const":"ab"}}}]}}`, `{"a":1,"ab":2} {"a":1,"ab":2,"c":3}`, `{} {"a":1} {"ab":1}`},
		{`{"type":"object","not":{"anyOf":[{"propertyNames":{"not":{"enum":["a","b"]}}},{"propertyNames":{"not":{"const":"a"}}}]}}`, `{"a":1} {"a":1,"b":2}`, `{} {"b":1}`},
		{`{"if":{"anyOf":[false,{"additionalProperties":false}],"required":["a"]},"then":{}}`, `true {} {"a":1}`, ``},
		{`{"type":"object","oneOf":[{"required":["a"],"properties":{"a":{},"x":{}},"additionalProperties":false},{"required":["b"],"properties":{"b":{},"x":{}},"additionalProperties":false},{"properties":{"c":{},"x":{}},"additionalProperties":false}]}`,
			`{"a":1} {"b":1,"x":2} {"c":1} {} {"x":1}`, `{"a":1,"b":1} {"a":1,"c":2} {"d":1}`},
		{`{"type":"object","not":{"anyOf":[{"properties":{"a":{}},"additionalProperties":false},{"properties":{"b":{}},"additionalProperties":false},{"patternProperties":{"^p":{"type":"null"}}}]}}`,
			`{"p":1} {"a":1,"b":2,"pq":3} {"p":1,"z":1}`, `{} {"a":1,"b":1} {"p":null} {"z":1}`},
		{`{"not":{"type":["string","number"]}}`, `null [] {}`, `"x" 1 1.5`},
		{`{"not":{"anyOf":[{"type":"object"},{"type":"array"},{"type":"string"},{"type":"number"}]}}`, `null true`, `1 "x" [] {}`},
		{`{"type":"object","not":{"required":["a","b"]}}`, `{} {"a":1} {"b":1}`, `{"a":1,"b":2} {"b":2,"a":1}`},
		{`{"type":"object","not":{"properties":{"a":{"const":1}}}}`, `{"a":2}`, `{} {"a":1}`},
		{`{"type":"object","properties":{"k":{"enum":["x","y"]},"v":{}},"required":["k"],"additionalProperties":false,"if":{"properties":{"k":{"const":"x"}}},"then":{"required":["v"]},"else":{"properties":{"v":false}}}`,
			`{"k":"x","v":1} {"k":"y"}`, `{"k":"x"} {"k":"y","v":1}`},
		{`{"if":{"type":"integer"},"then":{"minimum":3}}`, `3 2.5 "x"`, `2`},
		{`{"if":{"type":"integer"},"else":{"type":"null"}}`, `1 null`, `"x" 1.5`},
		{`{"if":{"type":"integer"}}`, `1 "x"`, ``},
		{`{"type":"object","dependentRequired":{"a":["b"]},"properties":{"a":{},"b":{},"c":{}}}`, `{} {"b":1} {"a":1,"b":2} {"c":1}`, `{"a":1} {"a":1,"c":1}`},
		{`{"type":"object","dependencies":{"a":["b"],"b":{"properties":{"c":{"const":1}}}},"properties":{"a":{},"b":{},"c":{}},"additionalProperties":false}`,
			`{} {"c":2} {"a":1,"b":2} {"b":2,"c":1}`, `{"a":1} {"b":2,"c":2}`},
		{`{"type":"object","dependentSchemas":{"a":{"maxProperties":1}}}`, `{"a":1} {"b":1,"c":2}`, `{"a":1,"b":2}`},
		{`{"allOf":[{"anyOf":[{"type":"string"},{"type":"integer"}]},{"anyOf":[{"type":"integer"},{"type":"null"}]}]}`, `1`, `"x" null`},
	})
}

func TestReferences(t *testing.T) {
	try(t, []example{
		{tree, `{"name":"a"} {"name":"a","children":[{"name":"b","children":[]}]}`, `{} {"name":"a","children":[{}]}`},
		{`{"type":"array","items":{"$ref":"#"},"maxItems":1}`, `[] [[]] [[[]]]`, `[[],[]] [1]`},
		{`{"$ref":"#/definitions/a%20~1~0b","definitions":{"a /~b":{"type":"null"}}}`, `null`, `1`},
		{`{"$ref":"#/$defs/a/anyOf/1","$defs":{"a":{"anyOf":[{},{"type":"null"}]}}}`, `null`, `1`},
		{`{"$ref":"#x","$defs":{"a":{"$anchor":"x","type":"null"}}}`, `null`, `1`},
		{`{"$dynamicRef":"#x","$defs":{"a":{"$dynamicAnchor":"x","type":"null"}}}`, `null`, `1`},
		{`{"$dynamicRef":"#/$defs/a","$defs":{"a":{"$dynamicAnchor":"x","type":"null"},"b":{"$id":"b","$dynamicAnchor":"x"}}}`, `null`, `1`},
		{`{"$dynamicAnchor":"x","type":["array","null"],"items":{"$ref":"b"},"$defs":{"b":{"$id":"b","$dynamicAnchor":"x","items":{"$dynamicRef":"#x"}}}}`, `null [1] [[null]] [[[1]]]`, `1 [[1]]`},
		{`{"type":["array","null"],"items":{"$recursiveRef":"#"}}`, `null [] [null,[]]`, `1 [1]`},
		{`{"$recursiveAnchor":true,"type":["array","null"],"items":{"$ref":"b"},"$defs":{"b":{"$id":"b","$recursiveAnchor":true,"items":{"$recursiveRef":"#"}}}}`, `null [1] [[null]] [[[1]]]`, `1 [[1]]`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#x","definitions":{"a":{"$id":"#x","type":"null"}}}`, `null`, `1`},
		{`{"$id":"http://a/b/c","$ref":"d","$defs":{"x":{"$id":"/b/d","$ref":"#/$defs/y","$defs":{"y":{"type":"null"}}},"y":{"type":"string"}}}`, `null`, `"x"`},
		{`{"id":"http://a/b","items":{"id":"other","$ref":"#/definitions/n"},"type":"array","definitions":{"n":{"type":"null"}}}`, `[null]`, `[1]`},
		{`{"$id":"http://a/b","$ref":"http://a/b#/$defs/n","$defs":{"n":{"type":"null"}}}`, `null`, `1`},
		{`{"$ref":"#/$defs/n","minimum":3,"$defs":{"n":{"type":"integer"}}}`, `3`, `2 "x"`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","$ref":"#/definitions/n","minimum":3,"definitions":{"n":{"type":"integer"}}}`, `3 2`, `"x"`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","const":3,"type":"integer"}`, `3 4`, `"x"`},
		{`{"type":"object","properties":{"$ref":{"type":"string"}},"additionalProperties":false}`, `{"$ref":"x"}`, `{"$ref":1}`},
		// Items without a finite text are absent.
		{`{"type":"array","items":{"$ref":"#/$defs/x"},"$defs":{"x":{"type":"object","required":["x"],"properties":{"x":{"$ref":"#/$defs/x"}}}}}`, `[]`, `[{}]`},
	})
}

func TestLimits(t *testing.T) {
	for schema, texts := range map[string][2]string{
		`{"type":"integer"}`: {`123456789012345`, `1234567890123456`},
		`{"type":"number"}`:  {`1.5e10`, `1e100`},

		`{"format":"duration"}`:  {`"P123456789012345DT012345678901234S"`, `"P1234567890123456D"`},
		`{"format":"time"}`:      {`"12:00:00.123456789012345Z"`, `"12:00:00.1234567890123456Z"`},
		`{"format":"date-time"}`: {`"2026-01-01T12:00:00.123456789012345Z"`, `"2026-01-01T12:00:00.1234567890123456Z"`},
	} {
		free, err := Compile([]byte(schema), automaton.Limits{})
		bound, err2 := Compile([]byte(schema), automaton.Generating())
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if !matches(bound, texts[0]) || matches(bound, texts[1]) || !matches(free, texts[1]) {
			t.Errorf("%s: limits are not held to, or always", schema)
		}
	}
}

// Alternatives of rules are neither empty nor duplicated.
func TestPruned(t *testing.T) {
	p, err := Compile([]byte(`{"anyOf":[{"type":"object","required":["a"],"properties":{"a":false}},{"type":"string"},{"type":"string"}],"not":{"type":"null"}}`), automaton.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Rules[p.Start].Text == nil {
		t.Errorf("%+v is not the one rule that is left", p.Rules[p.Start])
	}
}

// A program may lack valid texts, but has no invalid ones.
func TestNarrowed(t *testing.T) {
	var pairs, all, one []string
	for i := range 10 { // 1,024 ways
		pairs = append(pairs, fmt.Sprintf(`{"anyOf":[{"required":["a%d"]},{"required":["b%d"]}]}`, i, i))
		all, one = append(all, fmt.Sprintf(`"a%d":1`, i)), append(one, fmt.Sprintf(`"b%d":1`, i))
	}
	try(t, []example{
		{`{"type":"object","allOf":[` + strings.Join(pairs, ",") + `]}`, "{" + strings.Join(all, ",") + "} {" + strings.Join(append(one[:9:9], all[9]), ",") + "}",
			"{} {" + strings.Join(all[1:], ",") + "} 1"},
		// Arrays with two equal items would be valid, but the program cannot express them.
		{`{"oneOf":[{"type":"array","uniqueItems":true},{"type":"array","minItems":2}]}`, `[] [1]`, `[1,2] {}`},
		{`{"type":"object","oneOf":[{"required":["a"],"properties":{"a":{"type":"array","uniqueItems":true,"items":{"type":"string"}}}},{"required":["b"]}],"properties":{"a":{},"b":{}}}`,
			`{"a":["x"]} {"b":1} {"a":1,"b":1} {"a":[1],"b":1}`, `{} {"a":["x"],"b":1} {"a":["x","x"]} {"a":["x","x"],"b":1}`},
	})
	c := newCompiler(automaton.Limits{})
	if _, err := c.compile([]byte(`{"oneOf":[{"type":"array","uniqueItems":true},{"type":"array","minItems":2}]}`)); err != nil || c.narrowed == nil {
		t.Error(err, c.narrowed)
	}
}
