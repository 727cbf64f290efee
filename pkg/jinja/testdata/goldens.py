"""Writes goldens.json: templates with their result in the environment of transformers' chat templates.

jinja2 3.1.6, transformers 5.23.0. Arguments: COUNT SEED FILE writes COUNT random templates for a comparison by
`go test ./pkg/jinja -run Goldens -goldens FILE`.
"""
import datetime, json, os, random, re, sys, warnings

from transformers.utils.chat_template_utils import _compile_jinja_template

warnings.simplefilter("ignore")
HERE = os.path.dirname(os.path.abspath(__file__))
NOW = datetime.datetime(2026, 7, 5, 9, 8, 7, 654321)

CTX = {
    "s": "Hello World", "t": "  a, b,,c \n", "e": "", "u": "é日本ß Straße\u00a0x", "q": "it's \"q\" <b>&\\\n\t\x01",
    "n": 7, "z": 0, "m": -3, "f": 2.5, "g": 1e20, "h": -0.1, "big": 123456789012345678901234567890,
    "yes": True, "no": False, "nil": None,
    "l": [3, 1, 2], "w": ["b", "A", "c", "a"], "mix": [1, "x", None, 2.0, True, [1, 2], {"k": "v"}], "el": [],
    "d": {"b": 1, "a": "x", "items": "own", "c": {"d": [1, {"e": None}]}, "é": "ü\n"}, "ed": {},
    "ms": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": " Hi <there> "},
        {"role": "assistant", "content": None, "n": 2, "calls": [{"name": "f", "args": {"x": 1, "y": [1.0, "z"]}}]},
        {"role": "tool", "content": "42", "n": 1},
        {"role": "user", "content": "é</think>b</think>c", "n": 2},
    ],
}

HAND = open(os.path.join(HERE, "templates.txt"), encoding="utf-8").read().split("\n---\n")


def render(template):
    try:
        out = _compile_jinja_template(template).render(strftime_now=NOW.strftime, **json.loads(json.dumps(CTX)))
    except Exception as e:  # the kind of failure is part of the case
        return {"template": template, "err": type(e).__name__ + ": " + str(e)}
    if re.search(r" at 0x|<generator|<built-in|<bound method|<function|iterator|<class|transformers\.|jinja2\.|dict_\w+. and .dict_", out, re.I):
        return None  # addresses and internals are not part of the language
    return {"template": template, "want": out}


class Gen:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.scope = []

    def pick(self, *options):
        return self.r.choice(options)

    def lit(self):
        return self.pick("'a'", "'b c'", "''", "'é\\n'", '"it\'s"', "'<b>'", "',' ", "' '", "'l'", "'</think>'", "'o W'")

    def small(self):
        return self.pick("0", "1", "2", "-1", "3", "-2", "n", "m", "10")

    def str(self, d):
        if d <= 0:
            return self.pick("s", "t", "e", "u", "q", self.lit(), self.lit(), "ms[1].content", "d.a", "w[0]")
        x = self.str(d - 1)
        p = "(" + x + ")" if not re.fullmatch(r"\w+", x) else x
        k = self.r.randrange(30)
        if k == 0: return f"{p}.{self.pick('strip','lstrip','rstrip','upper','lower','title','capitalize','swapcase')}()"
        if k == 1: return f"{p}.{self.pick('strip','lstrip','rstrip')}({self.str(0)})"
        if k == 2: return f"{p}.replace({self.str(0)}, {self.str(0)}{self.pick('',', 1', ', 0')})"
        if k == 3: return f"{p}[{self.slice(d)}]"
        if k == 4: return f"{p}[{self.small()}]"
        if k == 5: return f"{p} + {self.str(d-1)}"
        if k == 6: return f"{p} ~ {self.any(d-1)}"
        if k == 7: return f"{p} * {self.small()}"
        if k == 8: return f"{self.any(d-1)} | {self.pick('string','tojson','trim','upper','lower','title','capitalize','e ~ ``','safe ~ ``')}"
        if k == 9: return f"{self.list(d-1)} | join({self.pick('', self.str(0))})"
        if k == 10: return f"{p} | replace({self.str(0)}, {self.str(0)})"
        if k == 11: return f"{self.any(d-1)} | tojson({self.pick('indent=2','ensure_ascii=True','sort_keys=True','indent=4, ensure_ascii=False', 'indent=0', 'separators=(`,`, `:`)')})"
        if k == 12: return f"{p} | indent({self.pick('','2','width=3','2, true','first=true','2, true, true', '`> `')})"
        if k == 13: return f"{p}.{self.pick('removeprefix','removesuffix')}({self.str(0)})"
        if k == 14: return f"{p}.split({self.pick('', self.str(0), self.str(0)+', 1')})[{self.small()}]"
        if k == 15: return f"{p}.{self.pick('center','ljust','rjust')}({self.pick('12', '13', '3', '15, `*`')})"
        if k == 16: return f"{self.str(0)}.join({self.list(d-1)})"
        if k == 17: return f"'{self.pick('%s','%r','%s-%s','%5s|','%-6s|','%d','%05d','%.2f','%x','%%%s','%+d','%e','%g','%.3s', '%(a)s','%c','%5.1f|','%i')}' % {self.pick(self.any(d-1), '(' + self.any(d-1) + ', ' + self.any(d-1) + ')', '(' + self.any(d-1) + ',)', 'n', 'f', 'd')}"
        if k == 18: return f"{p} | {self.pick('first','last','reverse')}"
        if k == 19: return f"{p} | truncate({self.pick('8','5, true','6, leeway=0','9, false, `…`, 0')})"
        if k == 20: return f"({self.any(d-1)} | default({self.str(0)}{self.pick('', ', true')}))"
        if k == 21: return f"{p} | center({self.pick('20','5','')})"
        if k == 22: return f"((({p} | {self.pick('safe','e')}) + {self.str(d-1)}) ~ '')"
        if k == 23: return f"{p}.zfill({self.pick('3','15')})"
        if k == 24: return f"('%s %s' | format({self.any(d-1)}, {self.any(d-1)}))"
        return self.str(0)

    def slice(self, d):
        f = lambda: self.pick("", "", self.small())
        return self.pick(f"{f()}:{f()}", f"{f()}:{f()}:{self.pick('-1','2','-2','1','', '3')}")

    def int(self, d):
        if d <= 0:
            return self.pick("n", "z", "m", "f", "g", "h", "big", "1", "2.5", "100", "yes", "no", "3", "0.1", "l[0]")
        x = self.int(d - 1)
        k = self.r.randrange(15)
        if k < 4: return f"({x} {self.pick('+','-','*','/','//','%')} {self.int(d-1)})"
        if k == 4: return f"({x} ** {self.pick('2','0','-1','n')})"
        if k == 5: return f"(-{x})"
        if k == 6: return f"({self.pick(self.str(d-1), self.list(d-1), self.dict(d-1))} | {self.pick('length','count')})"
        if k == 7: return f"({x} | {self.pick('int','float','abs','round','round(1)','round(-1)','round(1, `floor`)','round(0, `ceil`)')})"
        if k == 8: return f"({self.str(d-1)} | {self.pick('int','float','int(5)','int(default=2)','int(0, 16)','wordcount')})"
        if k == 9: return f"({self.list(d-1)} | {self.pick('sum','min','max','first','last')})"
        if k == 10: return f"({self.str(d-1)}).{self.pick('find','rfind','count','index')}({self.str(0)}{self.pick('', ', 1', ', -3', ', 1, 5')})"
        return self.int(0)

    def list(self, d):
        if d <= 0:
            return self.pick("l", "w", "mix", "el", "ms", "[1, 2]", "['x', s]", "(1, 'y')", "range(3)", "range(5, 0, -2)", "d", "d.items()", "d.keys()", "d.values()", "t.split(',')", "s", "u", "el", "nope")
        x = self.list(d - 1)
        p = "(" + x + ")"
        k = self.r.randrange(26)
        if k == 0: return f"{p}[{self.slice(d)}]"
        if k == 1: return f"{p} + {self.list(d-1)}"
        if k == 2: return f"({p} | {self.pick('list','reverse','sort','unique','sort(reverse=true)','sort(case_sensitive=true)', 'reverse | list','unique | list')})"
        if k == 3: return f"({p} | map({self.pick(chr(39)+'upper'+chr(39), chr(39)+'string'+chr(39), chr(39)+'tojson'+chr(39), 'attribute='+chr(39)+'role'+chr(39), 'attribute='+chr(39)+'n'+chr(39)+', default=0', 'attribute='+chr(39)+'calls.0.name'+chr(39), 'attribute=0', chr(39)+'default'+chr(39)+', 1', chr(39)+'int'+chr(39)+', default=-1')}) {self.pick('','| list','| list')})"
        if k == 4: return f"({p} | {self.pick('select','reject')}({self.pick('', '`string`','`number`','`defined`','`in`, [1,2,`a`]','`equalto`, 1','`ne`, `x`','`none`','`odd`')}) {self.pick('','| list','| list')})"
        if k == 5: return f"(ms | {self.pick('selectattr','rejectattr')}({self.pick('`role`, `equalto`, `user`','`n`','`content`, `string`','`n`, `defined`','`role`, `in`, [`tool`]','`calls`', '`n`, `gt`, 1')}) {self.pick('','| list','| list')})"
        if k == 6: return f"({p} | batch({self.pick('2','3','2, 0')}) {self.pick('| list', '| list','')})"
        if k == 7: return f"({p} | slice({self.pick('2','3','2, 0')}) {self.pick('| list', '| list','')})"
        if k == 8: return f"({self.dict(d-1)} | {self.pick('dictsort','items','items | list','list','dictsort(by=`value`)','dictsort(reverse=true)','dictsort(true)')})"
        if k == 9: return f"{self.str(d-1)}.{self.pick('split()','splitlines()','split(`,`)','rsplit(` `, 1)','split(maxsplit=1)','partition(`,`)','rpartition(`l`)','splitlines(true)','rsplit()','rsplit(none, 1)','split(none, 2)')}"
        if k == 10: return f"[{self.any(d-1)}, {self.any(d-1)}]"
        if k == 11: return f"({self.any(d-1)}, {self.any(d-1)})"
        if k == 12: return f"({self.list(d-1)} * {self.small()})"
        if k == 13: return f"(ms | {self.pick('groupby(`role`)','groupby(`n`, default=0)','sort(attribute=`role`)','sort(attribute=`role,content`)','map(attribute=`role`) | unique | list','sort(attribute=`role`, reverse=true)')})"
        if k == 14: return f"({self.dict(d-1)}.{self.pick('items','keys','values')}() {self.pick('', '| list', '| list')})"
        if k == 15: return f"range({self.small()}{self.pick('', ', ' + self.small(), ', ' + self.small() + ', ' + self.small())})"
        return self.list(0)

    def dict(self, d):
        k = self.r.randrange(8)
        if d <= 0 or k > 4: return self.pick("d", "ed", "ms[2]", "d.c", "{'x': 1, 'y': [2]}", "{1: 'a', true: 'b', 2.0: none}", "ms[2].calls[0].args")
        if k == 0: return f"{{'p': {self.any(d-1)}, {self.str(0)}: {self.any(d-1)}}}"
        if k == 1: return f"dict({self.pick('', self.dict(d-1)+', ')}z={self.any(d-1)})"
        if k == 2: return f"dict({self.list(d-1)})"
        return f"{{{self.any(0)}: {self.any(d-1)}}}"

    def bool(self, d):
        if d <= 0: return self.pick("yes", "no", "nil", "n", "e", "el", "true", "false")
        k = self.r.randrange(12)
        a = self.any(d - 1)
        if k == 0: return f"({a} {self.pick('==','!=')} {self.any(d-1)})"
        if k == 1: return f"({self.int(d-1)} {self.pick('<','<=','>','>=')} {self.int(d-1)}{self.pick('', ' < ' + self.int(0))})"
        if k == 2: return f"({self.str(d-1)} {self.pick('<','<=','>','>=','in','not in')} {self.str(d-1)})"
        if k == 3: return f"({a} {self.pick('in','not in')} {self.pick(self.list(d-1), self.dict(d-1))})"
        if k == 4: return f"(not {a})"
        if k == 5: return f"({a} {self.pick('and','or')} {self.any(d-1)})"
        if k in (6, 7, 8): return f"({a} is {self.pick('','','not ')}{self.pick('defined','undefined','none','string','mapping','iterable','sequence','number','integer','float','boolean','true','false','callable','escaped','upper','lower','odd','even','divisibleby 2','divisibleby(3)','eq 1','ne `x`','in [1, 2]','sameas none','filter','test')})"
        if k == 9: return f"({self.str(d-1)}).{self.pick('startswith','endswith')}({self.pick(self.str(0), '('+self.str(0)+', '+self.str(0)+')', self.str(0)+', 1', self.str(0)+', 0, 3')})"
        if k == 10: return f"({self.str(d-1)}).{self.pick('isdigit','isalpha','isalnum','isspace','islower','isupper','istitle','isascii','isdecimal')}()"
        return f"({self.list(d-1)} < {self.list(d-1)})"

    def any(self, d):
        k = self.r.randrange(14)
        if k < 4: return self.str(d)
        if k < 6: return self.int(d)
        if k < 8: return self.list(d)
        if k == 8: return self.dict(d)
        if k == 9: return self.bool(d)
        if k == 10: return self.pick("nil", "nope", "d.nope", "ms[9]", "ms[0].nope", "l[5]", "d['b']", "d.get('a')", "d.get('x', 1)", "d.get(n)", "none", "d.items", "mix[6].k", "ms[-1]['content']", "ms[-1].role")
        if k == 11: return f"({self.any(d-1)} if {self.bool(d-1)}{self.pick(' else ' + self.any(d-1), '')})" if d > 0 else "s"
        if self.scope: return self.pick(*self.scope)
        return self.pick("s", "n", "l", "d")

    def tag(self, body):
        return "{%" + self.pick("", "", "", "-", "+") + " " + body + " " + self.pick("", "", "", "-", "+" ) + "%}"

    def text(self):
        return self.pick("", "x", " ", "\n", "  \n  ", "a\n", "\n\n", "<|im|>", " b ", "{", "\t", "%}", "\n  \t", "é\r\n", "#}")

    def out(self, d):
        return "{{" + self.pick("", "", "-", "+") + " " + self.any(d) + " " + self.pick("", "", "-") + "}}"

    def body(self, d, inloop=False):
        return "".join(self.text() + self.stmt(d, inloop) for _ in range(self.r.randint(1, 3))) + self.text()

    def scoped(self, names, d, inloop=False):
        old = self.scope
        self.scope = self.scope + names
        b = self.body(d, inloop)
        self.scope = old
        return b

    def stmt(self, d, inloop):
        k = self.r.randrange(22)
        if d <= 0 or k < 8: return self.out(2)
        if k < 11:
            s = self.tag("if " + self.bool(2)) + self.body(d - 1, inloop)
            if self.r.random() < .3: s += self.tag("elif " + self.bool(1)) + self.body(d - 1, inloop)
            if self.r.random() < .5: s += self.tag("else") + self.body(d - 1, inloop)
            return s + self.tag("endif")
        if k < 14:
            pair = self.r.random() < .25
            target, over = ("k, v", self.pick("d.items()", "d | dictsort", "ms[2].items()", "[(1, 2), (3, 4)]", "ed | items")) if pair else ("x", self.list(1))
            cond = self.pick("", "", "", " if " + self.pick("x", "x is string", "x != 1", "k", "loop"))
            names = (["k", "v"] if pair else ["x"]) + ["loop.index", "loop.index0", "loop.first", "loop.last", "loop.length", "loop.revindex", "loop.previtem", "loop.nextitem", "loop.cycle(1, 2)", "loop.changed(n)", "loop.depth", "loop.revindex0", "loop"]
            s = self.tag(f"for {target} in {over}{cond}") + self.scoped(names, d - 1, True)
            if self.r.random() < .2: s += self.tag("else") + self.body(d - 1)
            return s + self.tag("endfor")
        if k == 14: return self.tag(f"set {self.pick('a', 'b', 'x')} = {self.any(2)}")
        if k == 15: return self.tag("set a") + self.body(d - 1) + self.tag("endset") + "{{ a }}"
        if k == 16:
            return self.tag(f"macro f(x, y={self.any(1)}, z=3)") + self.scoped(["x", "y", "z", "varargs", "kwargs"][: self.pick(3, 3, 5)], d - 1) + self.tag("endmacro") + "{{ f(" + self.pick("", "1", self.any(1), self.any(1) + ", " + self.any(1), "y=2", "1, z=l", "1, 2, 3, 4", "1, w=2", "*l", "**{'x': 1}") + ") }}"
        if k == 17: return self.tag("set ns = namespace(a=1)") + self.tag(f"for x in {self.list(0)}") + self.tag(f"set ns.a = {self.pick('x', 'ns.a ~ x', 'ns.a + 1', 'loop.index')}") + self.tag("endfor") + "{{ ns.a }}"
        if k == 18: return self.tag(f"filter {self.pick('upper','trim','indent(2)','replace(`a`, `b`)','upper | trim')}") + self.body(d - 1) + self.tag("endfilter")
        if k == 19: return "{#" + self.pick("", "-", "+") + self.pick(" c ", "-", "x\n", "") + self.pick("", "-", "+") + "#}"
        if k == 20 and inloop: return "{% if " + self.bool(1) + " %}" + self.tag(self.pick("break", "continue")) + "{% endif %}"
        if k == 21: return self.pick("{% raw %}{{ x }}\n {% endraw %}\n", "{%- raw -%} a {%- endraw -%} b", self.tag("generation") + "g{{ s }}" + self.tag("endgeneration"), self.tag("with a = " + self.any(1) + ", b = 2") + "{{ a }}{{ b }}" + self.tag("endwith"))
        return self.out(1)


def fuzz(count, seed):
    cases = []
    while len(cases) < count:
        seed += 1
        g = Gen(seed)
        template = (g.out(3) if seed % 3 == 0 else g.body(3)).replace("`", '"')  # Python 3.11 forbids \\ in f-strings
        case = render(template)
        if case is not None and 'dict_' not in str(case) and len(case.get("want", "")) < 20000:
            cases.append(case)
    return cases


def main():
    if len(sys.argv) == 4:
        with open(sys.argv[3], "w") as f:
            json.dump({"ctx": CTX, "cases": fuzz(int(sys.argv[1]), int(sys.argv[2]))}, f)
        return
    cases = [render(t.rstrip("\n") if t.endswith("\n") and t.count("\n") == 1 else t) for t in HAND]
    assert None not in cases, [t for t, c in zip(HAND, cases) if c is None]
    random_cases = [c for c in fuzz(1500, 0) if "want" in c and len(c["template"]) + len(c["want"]) < 260][:180]
    random_cases += [c for c in fuzz(300, 5000) if "err" in c and len(c["template"]) < 120][:40]
    with open(os.path.join(HERE, "goldens.json"), "w") as f:
        f.write('{"ctx": ' + json.dumps(CTX) + ',\n"cases": [\n' + ",\n".join(json.dumps(c) for c in cases + random_cases) + "\n]}\n")


main()
