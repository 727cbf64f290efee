package gbnf

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"glossa/pkg/grammar/fault"
	"glossa/pkg/grammar/pushdown"
)

const arithmetic = `# sums of products
root   ::= sum "\n"
sum    ::= product ([-+] product)*
product ::= factor ([*/] factor)*
factor ::= number | "(" sum ")" | "-" factor
number ::= [0-9]+ ("." [0-9]+)?
`

const json = `root ::= object
value ::= object | array | string | number | ("true" | "false" | "null") ws
object ::=
  "{" ws (
    string ":" ws value
    ("," ws string ":" ws value)*  # more
  )? "}" ws
array ::= "[" ws ( value ("," ws value)* )? "]" ws
string ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) )* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9]{1,3})? ws
ws ::= | " " | "\n" [ \t]{0,20}
`

const chess = `root ::= (
    "1. " move " " move "\n"
    ([1-9] [0-9]? ". " move " " move "\n")+
)
move ::= (pawn | piece | castle) [+#]?
piece ::= [NBKQR] [a-h]? [1-8]? "x"? [a-h] [1-8]
pawn ::= ([a-h] "x")? [a-h] [1-8] ("=" [NBKQR])?
castle ::= "O-O" "-O"?
`

const clike = `root ::= declaration*
declaration ::= type identifier "(" parameter? ")" "{" statement* "}"
type ::= ("int" | "float" | "char") " "
identifier ::= [a-zA-Z_] [a-zA-Z_0-9]*
parameter ::= type identifier
statement ::=
    type identifier " = " expression ";" |
    identifier " = " expression ";" |
    "return " expression ";" |
    "while (" condition ") {" statement* "}" |
    "if (" condition ") {" statement* "}" ("else {" statement* "}")? |
    "//" [^\n]* "\n"
condition ::= expression ("==" | "<=" | "<") expression
expression ::= term (("+" | "-") term)*
term ::= factor (("*" | "/") factor)*
factor ::= identifier ("(" (expression ("," expression)*)? ")")? | [0-9]+ | "-" factor | "(" expression ")"
`

var tests = []struct {
	name, grammar string
	accepted      []string
	refused       []string
}{
	{"literal", `root ::= "yes" | "no"`, []string{"yes", "no"}, []string{"", "y", "yesno", "Yes"}},
	{"empty", `root ::= ""`, []string{""}, []string{"a"}},
	{"empty alternative", "root ::= | \"a\" |\n \"b\"", []string{"", "a", "b"}, []string{"ab", "|"}},
	{"escapes", `root ::= "\n\r\t\\\"\[\]\-\x41\u00e9\U0001F600"`, []string{"\n\r\t\\\"[]-Aé😀"}, []string{"", "\n"}},
	{"a code point, not a byte", `root ::= "\xe9"`, []string{"é"}, []string{"\xe9"}},
	{"class", `root ::= [a-cx\]\-\u00e9-]+`, []string{"abc", "x]-é", "-"}, []string{"", "d", "^", "\xc3"}},
	{"class, dashes", `root ::= [-a-c+--]+`, []string{"-a+,-"}, []string{".", "*"}},
	{"class, negated", `root ::= [^a-c\n]`, []string{"d", "é", "😀", "\r"}, []string{"", "a", "b", "\n", "dd", "\x00", "\xff", "\xed\xa0\x80"}},
	{"class, caret", `root ::= [a^]+`, []string{"^a"}, []string{"b"}},
	{"any", `root ::= . .`, []string{"ab", "\n\n", "日本", "😀\U0010FFFF"}, []string{"", "a", "abc", "a\x00", "\xf4\x90\x80\x80"}},
	{"unicode ranges", `root ::= ([ぁ-ゟ] | [ァ-ヿ] | [\U0001F300-\U0001F6FF] | [\uD000-\uFFFF])+`, []string{"ひらがな", "カタカナ", "🌍🚀", "\ud7ff\ue000"}, []string{"", "a", "\xed\xa0\x80", "\U0001F700"}},
	{"repetition", `root ::= "a"* "b"+ "c"? "d"{2} "e"{1,} "f"{0,2} "g"{ 1 , 2 }`, []string{"bddeg", "aabbcddeeffgg"}, []string{"ddeg", "bdeg", "bdddeg", "bddg", "bddefffg", "bddeggg", "bdde"}},
	{"repetition of a literal", `root ::= "ab"{2}`, []string{"abab"}, []string{"abb", "ab"}},
	{"repetition of a repetition", `root ::= "a"{2}* ("b"?)+ ""* "c"{0}`, []string{"", "aa", "aaaab", "bb"}, []string{"a", "c"}},
	{"groups", "root ::= (\"a\" # one\n | \"b\"\n (\"c\")\n)+", []string{"a", "bc", "abca"}, []string{"", "b", "ac"}},
	{"names", "root ::= A-1 a_b\n  A-1 ::= \"x\" # here\r\n\ta_b ::=\n\"y\"", []string{"xy"}, []string{"x"}},
	{"same text twice", "root ::= a \",\" a\na ::= [a-z]+", []string{"a,b"}, []string{"a", "a,", ",b"}},
	{"recursion", `root ::= "(" root ")" | ""`, []string{"", "()", "(())"}, []string{"(", ")(", "()()"}},
	{"recursion, in the middle of nothing", "root ::= a*\na ::= \"(\" root \")\" | b\nb ::= \"\" | \"x\" a \"y\"", []string{"", "()()", "(()x()y)", "xxyyxy"}, []string{"x", "(", "xyy"}},
	{"recursion at the end", "root ::= \"a\" root | \"b\" (\"c\" root | \"d\") | (\"e\" root)?", []string{"", "aabcbd", "eee", "abd"}, []string{"b", "bda", "f"}},
	{"recursion at the end, of two", "root ::= \"a\" b | \"x\"\nb ::= \"b\" root", []string{"x", "ababx"}, []string{"ab", "abab", "ax"}},
	{"arithmetic", arithmetic, []string{"1\n", "1.5+2*(3-4)/-5\n", "((((1))))\n"}, []string{"1", "1+\n", "(1\n", "1.\n", "--\n"}},
	{"JSON", json, []string{`{}`, `{"a":[1,-2.5e+3,"x\u00e9\\",{"b":null}],"c":""}`, "{\n\t\"a\": true}", `{"日":"本"}`}, []string{`[]`, `{`, `{"a"}`, `{"a":01}`, `{"a":"` + "\n" + `"}`, `{"a":1,}`, `{"a":"\x"}`, `{"a":"\u12"}`}},
	{"list", "root ::= item+\nitem ::= \"- \" [^\\n\\r]+ \"\\n\"", []string{"- a\n", "- a - b\n- 日本\n"}, []string{"", "- \n", "- a", "a\n"}},
	{"chess", chess, []string{"1. e4 e5\n2. Nf3 Nc6\n", "1. e4 d5\n2. exd5 Qxd5\n10. O-O O-O-O+\n"}, []string{"1. e4 e5\n", "1. e4\n2. d4 d5\n", "1. i4 e5\n2. d4 d5\n"}},
	{"C", clike, []string{"", "int f(){}", "int f(char c){int x = 1+f(c,-2)*(3);while (x<3) {// so\nx = x-1;}return x;}"}, []string{"int", "int f({}", "int f(){return ;}", "void f(){}"}},
	{"wide and counted", `root ::= "{" ("\"" [^"]{2,300} "\"" root | "}")`, []string{"{}", `{"ab"{}`, `{"` + strings.Repeat("é", 300) + `"{}`}, []string{`{"a"{}`, `{"` + strings.Repeat("é", 301) + `"{}`, `{"ab"`}},
	{"counted, of what recurses", `root ::= ("(" root ")"){0,50} [a-z]{3}`, []string{"abc", "(abc)abc", "((abc)abc)(abc)abc"}, []string{"", "(abc)", "()abc"}},
	{"counted, large", "root ::= line{2,900}\nline ::= [^\\n]{1,80} \"\\n\"", []string{"a\nb\n", strings.Repeat("x\n", 900)}, []string{"a\n", strings.Repeat("x\n", 901), strings.Repeat("x", 81) + "\na\n"}},
	{"counted in counted", `root ::= (("ab"{50} "c"){20} "d"){30}`, []string{strings.Repeat(strings.Repeat(strings.Repeat("ab", 50)+"c", 20)+"d", 30)}, []string{"", strings.Repeat(strings.Repeat(strings.Repeat("ab", 50)+"c", 20)+"d", 29)}},
	{"cut, as one automaton would be too large", "root ::= start [ab]{30}\nstart ::= [^\n]* \"a\"", []string{"aéa" + strings.Repeat("b", 30), strings.Repeat("a", 31)}, []string{strings.Repeat("a", 30), "a" + strings.Repeat("b", 31)}},
	{"cut, without rules", `root ::= "x" ([^\n]* "a" [ab]{30}){2}`, []string{"xaéa" + strings.Repeat("b", 30) + strings.Repeat("a", 31)}, []string{"xa" + strings.Repeat("b", 30), "x"}},
	{"counted, of what may be empty", "root ::= (\"a\"? b?){3000} (b | \"\"){100,} \"x\"\nb ::= \"(\" root? \")\"", []string{"x", "aa(x)x", strings.Repeat("()", 10) + "x"}, []string{"", "a", "(a)x"}},
	{"counted and regular, of what may be empty", `root ::= ("a"? "b"?){1,5000} "x"`, []string{"x", strings.Repeat("ab", 10) + "x"}, []string{"a", "abxab"}},
	{"what root does not need", "root ::= \"a\"\nb ::= b \"x\" | c\nc ::= c", []string{"a"}, []string{"x"}},
	{"no end of line", `root ::= "a" #`, []string{"a"}, nil},
}

func TestCompile(t *testing.T) {
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, err := Compile(test.grammar)
			if err != nil {
				t.Fatal(err)
			}
			if err := check(p); err != nil {
				t.Fatal(err)
			}
			machine, err := pushdown.New(p)
			if err != nil {
				t.Fatal(err)
			}
			g, err := parse(test.grammar)
			if err != nil {
				t.Fatal(err)
			}
			for want, texts := range map[bool][]string{true: test.accepted, false: test.refused} {
				for _, text := range texts {
					if got := match(p, text); got != want {
						t.Errorf("%.60q: %v", text, got)
					}
					if got := machine.Match(text); got != want {
						t.Errorf("%.60q: the machine says %v", text, got)
					}
					if got := reads(g, text); got != want {
						t.Errorf("%.60q: the grammar itself says %v", text, got)
					}
				}
			}
		})
	}
}

// Each rule without recursion is one shared automaton.
func TestShape(t *testing.T) {
	kinds := func(p *pushdown.Program) (texts, procs int, shared bool) {
		seen := map[any]bool{}
		for _, r := range p.Rules {
			if r.Proc != nil {
				procs++
				continue
			}
			texts++
			shared = shared || seen[r.Text.DFA]
			seen[r.Text.DFA] = true
		}
		return texts, procs, shared
	}
	for _, test := range []struct {
		name, grammar string
		texts, procs  int
		shared        bool
	}{
		{"regular", chess, 1, 0, false},
		{"list", "root ::= item+\nitem ::= \"- \" [^\\n\\r]+ \"\\n\"", 1, 0, false},
		{"recursion at the end", "root ::= \"[\" ws \"]\"\nws ::= ([ \\t\\n] ws)?", 1, 0, false},
		{"JSON", json, 1, 4, false}, // string; root, object, array, value
		{"arithmetic", arithmetic, 0, 4, false},
		{"equal strings", "root ::= a root b | \"x\"\na ::= \"'\" [^']* \"'\"\nb ::= \"'\" ([^'])* \"'\"", 2, 1, true},
		{"content", `root ::= "<" ("a" | "b") [^<>]* ">" root? "</>"`, 1, 1, false},
		{"a start that may be empty", `root ::= ("(" root ")")*`, 0, 2, false},
	} {
		p, err := Compile(test.grammar)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if texts, procs, shared := kinds(p); texts != test.texts || procs != test.procs || shared != test.shared {
			t.Errorf("%s: %d automata, %d rules that call, shared %v; want %d, %d, %v", test.name, texts, procs, shared, test.texts, test.procs, test.shared)
		}
	}
}

func TestErrors(t *testing.T) {
	doubled := "root ::= r0\n"
	for i := range 40 {
		doubled += fmt.Sprintf("r%d ::= r%d r%d\n", i, i+1, i+1)
	}
	chain := "root ::= r0\n"
	for i := range 4000 {
		chain += fmt.Sprintf("r%d ::= \"a\" r%d \"b\" | r%d\n", i, i+1, i+1)
	}
	many := ""
	for i := range 5000 {
		many += fmt.Sprintf("r%d ::= \"a\"\n", i)
	}
	several := "root ::= \"(\" root \")\" | \"x\""
	for i := range 20 {
		several += fmt.Sprintf(" | [ab\\u0100-\\uFFFF]* \"a\" [ab]{13} \"%d\" root", i)
	}
	for _, test := range []struct{ grammar, pointer, message string }{
		{"", "line 1", "the rule root is missing"},
		{"a ::= \"b\"", "line 1", "the rule root is missing"},
		{"a ::= root", "line 1", "the rule root is missing"},
		{"root ::= \"a\"\n\nb ::= c d", "line 3", "rule c is not defined"},
		{"root ::= \"a\"\nroot ::= \"b\"", "line 2", "already defined in line 1"},
		{"root = \"a\"", "line 1", "'=' where ::= should follow"},
		{"root\n ::= \"a\"", "line 1", "the line ends where ::= should follow"},
		{"root ::= \"a\"\n| \"b\"", "line 2", "'|' where the name of a rule should follow"},
		{"root ::= \"a\" )", "line 1", "')' where the end of the line"},
		{"root ::= \"a\" b ::= \"c\"", "line 1", "':' where the end of the line"},
		{"root ::= (\"a\"\n\n", "line 1", "not closed"},
		{"root ::= (\"a\"\n\n;)", "line 3", "';' where ) should"},
		{"root ::= \"a", "line 1", "not closed"},
		{"root ::= [a", "line 1", "not closed"},
		{"root ::= []", "line 1", "no characters"},
		{"root ::= [^]", "line 1", "no characters"},
		{`root ::= [^\x01-\U0010FFFF]`, "line 1", "no characters"},
		{`root ::= [z-a]`, "line 1", "wrong order"},
		{`root ::= "\q"`, "line 1", `unknown escape \q`},
		{`root ::= "\xg0"`, "line 1", `\x needs 2`},
		{`root ::= "\u12`, "line 1", `\u needs 4`},
		{`root ::= "\UFFFFFFFF"`, "line 1", "not a Unicode character"},
		{`root ::= "\uD800"`, "line 1", "not a Unicode character"},
		{"root ::= \"\\", "line 1", "ends in an escape"},
		{"root ::=\n*", "line 2", "nothing before *"},
		{"root ::= \"a\" | +", "line 1", "nothing before +"},
		{"root ::= \"a\"{}", "line 1", "a number of repetitions"},
		{"root ::= \"a\"{,3}", "line 1", "write {0,"},
		{"root ::= \"a\"{3,2}", "line 1", "is smaller than the first"},
		{"root ::= \"a\"{3", "line 1", "} should follow"},
		{"root ::= \"a\"{1000000}", "line 1", "at most 10000"},
		{"root ::= \"a\"{99999999999999999999999}", "line 1", "at most 10000"},
		{"root ::= <[123]>", "line 1", "tokens"},
		{"root ::= \"a\"\n\nb ::= (<think>)", "line 3", "tokens"},
		{"root ::= !<think>", "line 1", "tokens"},
		{"root ::= \"a\xff\"", "line 1", "UTF-8"},
		{"root ::= a\na ::= a \"x\" | \"y\"", "line 2", "left recursion: rule a begins with itself (a > a)"},
		{"root ::= a | \"z\"\na ::= b \"x\"\nb ::= (c | \"y\") \"z\"\nc ::= a", "line 2", "(a > b > c > a)"},
		{"root ::= e* \"\" (\"x\"? root)? \"y\"\ne ::= \"e\"?", "line 1", "(root > root)"},
		{"root ::= \"x\"? root", "line 1", "no text matches rule root"},
		{"root ::= \"x\"? root | \"y\"", "line 1", "left recursion"},
		{"root ::= root | \"y\"", "line 1", "left recursion"},
		{"root ::= \"a\" | b\nb ::= \"x\" c\nc ::= \"y\" b", "line 2", "no text matches rule b"},
		{strings.Repeat("root ::= \"a\"\n", 100_000), "line 1", "at most 262144"},
		{"root ::= " + strings.Repeat("(", 10_000) + "\"a\"" + strings.Repeat(")", 10_000), "line 1", "nested parentheses"},
		{"root ::= \"a\"" + strings.Repeat("*", 10_000), "line 1", "nested repetitions"},
		{"root ::= ((((\"a\"{1000}){1000}){1000}\"b\"){1000})*", "line 1", ""}, // rules that call each other
		{doubled + "r40 ::= \"a\"", "line 17", "the shortest text of rule r15 exceeds the limit of 16777216 bytes"},
		{chain + "r4000 ::= \"a\"", "line 1", ""},
		{many, "line 4097", "more than 4096 rules"},
		{`root ::= [ab]* "a" [ab]{100}`, "line 1", "too large"},
		{"root ::= \"a\"\nb ::= \"" + strings.Repeat("x", 100_000) + "\"", "", ""},
		{"root ::= \"" + strings.Repeat("x", 100_000) + "\"", "line 1", "too large"},
		{"root ::= ([^x]{1,200} \"y\"){1,200}", "", ""},
		{several, "line 1", "too large"},
	} {
		p, err := Compile(test.grammar)
		e, _ := errors.AsType[*fault.Error](err)
		switch {
		case err == nil:
			if test.message != "" {
				t.Errorf("%.60q: no error, want %q", test.grammar, test.message)
			} else if err := check(p); err != nil {
				t.Errorf("%.60q: %v", test.grammar, err)
			}
		case e == nil || test.message == "" || e.Pointer != test.pointer || !strings.Contains(e.Message, test.message) || p != nil:
			t.Errorf("%.60q: %v, want %s: %q", test.grammar, err, test.pointer, test.message)
		}
	}
}

// FuzzCompile compares programs with their grammars.
func FuzzCompile(f *testing.F) {
	for _, test := range tests {
		for _, text := range append(test.accepted, test.refused...) {
			f.Add(test.grammar, text)
		}
	}
	f.Fuzz(func(t *testing.T, source, text string) {
		p, err := Compile(source)
		if err != nil {
			if _, ok := errors.AsType[*fault.Error](err); !ok {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		if err := check(p); err != nil {
			t.Fatal(err)
		}
		machine, err := pushdown.New(p)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > 200 {
			return
		}
		g, err := parse(source)
		if err != nil {
			t.Fatal(err)
		}
		want := reads(g, text)
		if got := match(p, text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
		if got := machine.Match(text); got != want {
			t.Errorf("%q: the machine says %v, want %v", text, got, want)
		}
	})
}
