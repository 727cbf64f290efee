"""Answers that are held to a form: the parsing of the openai SDK, and TextSynth's
schema and grammar, over models that have learnt nothing and one that has."""

import json
import os
import re
import typing
import unittest

import openai
import pydantic

from server import Server

MODEL = "letters"
CALLER = "chatter"  # which can end its calls: letters have no token for that
USER = [{"role": "user", "content": "Where was it?"}]


class Place(pydantic.BaseModel):
    name: typing.Annotated[str, pydantic.Field(max_length=8)]
    kind: typing.Literal["town", "river", "mountain"]
    height: typing.Annotated[int, pydantic.Field(ge=-400, le=9000)] | None


class Journey(pydantic.BaseModel):
    """All members are bounded: 900 tokens are more than enough."""
    places: typing.Annotated[list[Place], pydantic.Field(max_length=2)]
    by: Place
    on_foot: bool


class Letter(pydantic.BaseModel):
    """Unbounded: only a limit of tokens ends it."""
    text: str
    words: list[str]
    weight: float


class Weather(pydantic.BaseModel):
    """The weather of a place."""
    place: Place
    days: typing.Annotated[int, pydantic.Field(ge=1, le=14)]


class Clock(pydantic.BaseModel):
    zone: typing.Literal["UTC", "CET"]


TOOLS = [openai.pydantic_function_tool(Weather), openai.pydantic_function_tool(Clock, name="clock")]
KINDS = {"Weather": Weather, "clock": Clock}
CALLS = {"model": CALLER, "tools": TOOLS, "temperature": 1, "max_tokens": 4000}  # some twenty calls


def setUpModule():
    global server, client
    server = unittest.enterModuleContext(Server("--checkpoints", os.environ["FORMS"]))
    client = unittest.enterModuleContext(server.client())


def ask(**params):
    return client.chat.completions.create(**{"model": MODEL, "messages": USER, "temperature": 1, **params})


def parse(**params):
    return client.chat.completions.parse(**{"model": MODEL, "messages": USER, "temperature": 1, "max_tokens": 900, **params})


def schema_of(model):
    return {"type": "json_schema", "json_schema": {"name": "form", "schema": model.model_json_schema()}}


class ResponseFormat(unittest.TestCase):
    def test_parse(self):
        for seed in range(10):
            [choice] = parse(response_format=Journey, seed=seed).choices
            self.assertIsInstance(choice.message.parsed, Journey)
            self.assertEqual((choice.finish_reason, choice.message.refusal, choice.message.tool_calls), ("stop", None, None))
            self.assertEqual(choice.guarantee, "enforced")
            self.assertEqual(list(json.loads(choice.message.content)), list(Journey.model_fields))

    def test_choices(self):
        choices = parse(response_format=Journey, n=4, seed=1).choices
        self.assertEqual([c.index for c in choices], list(range(4)))
        self.assertEqual(len({c.message.content for c in choices}), 4)
        self.assertTrue(all(isinstance(c.message.parsed, Journey) for c in choices))

    def test_greedy(self):
        self.assertIsInstance(parse(response_format=Journey, temperature=0).choices[0].message.parsed, Journey)

    def test_every_max_tokens(self):
        """With enough tokens the answer is complete; fewer are rejected."""
        least = None
        for n in range(1, 120):
            try:
                answer = ask(response_format=schema_of(Letter), max_tokens=n, seed=n)
            except openai.BadRequestError as e:
                self.assertIsNone(least, f"{least} tokens do, and {n} do not")
                self.assertEqual(e.param, "max_tokens")
                continue
            least = least or n
            [choice] = answer.choices
            Letter.model_validate_json(choice.message.content)
            self.assertLessEqual(answer.usage.completion_tokens, n)
            self.assertEqual(choice.guarantee, "enforced")
        self.assertLessEqual(least, len('{"text":"","words":[],"weight":0}'))

    def test_a_limit_is_told(self):
        """The SDK refuses to parse an answer that a limit ended, and shows it: it is complete."""
        cut = 0
        for seed in range(10):
            try:
                self.assertIsInstance(parse(response_format=Letter, max_tokens=40, seed=seed).choices[0].message.parsed, Letter)
            except openai.LengthFinishReasonError as e:
                cut += 1
                Letter.model_validate_json(e.completion.choices[0].message.content)
        self.assertTrue(cut)

    def test_header(self):
        answer = client.chat.completions.with_raw_response.create(
            model=MODEL, messages=USER, response_format=schema_of(Journey), max_tokens=900)
        self.assertEqual(answer.headers["x-glossa-guarantee"], "enforced")
        plain = client.chat.completions.with_raw_response.create(model=MODEL, messages=USER, max_tokens=3)
        self.assertNotIn("x-glossa-guarantee", plain.headers)

    def test_any_object(self):
        for n in (20, 40, 200):
            text = ask(response_format={"type": "json_object"}, max_tokens=n, seed=n).choices[0].message.content
            self.assertIsInstance(json.loads(text), dict)

    def test_text(self):
        [choice] = ask(response_format={"type": "text"}, max_tokens=5).choices
        self.assertNotIn("guarantee", choice.model_dump())

    def test_words_of_laminis_client(self):
        """It sends the types of Python in a JSON Schema."""
        schema = {"type": "object", "properties": {"age": {"type": "int"}, "height": {"type": "float"}, "old": {"type": "bool"}},
                  "required": ["age", "height", "old"], "additionalProperties": False}
        answer = ask(response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": schema, "strict": True}}, max_tokens=200)
        value = json.loads(answer.choices[0].message.content)
        self.assertEqual([type(v) for v in (value["age"], value["old"])], [int, bool])

    def test_errors(self):
        def form(schema):
            return {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
        for param, says, format in (
                ("response_format", "/properties/a: type: ", form({"type": "object", "properties": {"a": {"type": "objekt"}}})),
                ("response_format.type", "xml", {"type": "xml"}),
                ("response_format.json_schema.schema", "required", {"type": "json_schema", "json_schema": {"name": "x"}})):
            with self.assertRaises(openai.BadRequestError) as caught:
                ask(response_format=format, max_tokens=200)
            self.assertEqual(caught.exception.param, param)
            self.assertIn(says, caught.exception.message)


class Stream(unittest.TestCase):
    def test_parse(self):
        params = {"model": MODEL, "messages": USER, "response_format": Journey, "seed": 3, "temperature": 1, "max_tokens": 900}
        pieces, done = [], []
        with client.chat.completions.stream(**params) as stream:
            for event in stream:
                if event.type == "content.delta":
                    pieces.append(event.delta)
                elif event.type == "content.done":
                    done.append(event.parsed)
            [choice] = stream.get_final_completion().choices
        whole = client.chat.completions.parse(**params).choices[0]
        self.assertEqual("".join(pieces), whole.message.content)
        self.assertEqual([choice.message.parsed], done)
        self.assertEqual((choice.message.parsed, choice.finish_reason), (whole.message.parsed, "stop"))

    def test_guarantee(self):
        chunks = list(ask(response_format=schema_of(Letter), max_tokens=60, stream=True))
        self.assertEqual([c.choices[0].model_dump().get("guarantee") for c in chunks], [None] * (len(chunks) - 1) + ["enforced"])
        Letter.model_validate_json("".join(c.choices[0].delta.content or "" for c in chunks))

    def test_calls(self):
        params = {**CALLS, "messages": USER, "tool_choice": "required"}
        counts = set()
        for seed in range(10):
            done = []
            with client.chat.completions.stream(seed=seed, **params) as stream:
                for event in stream:
                    if event.type == "tool_calls.function.arguments.done":
                        done.append((event.name, event.parsed_arguments))
                [choice] = stream.get_final_completion().choices
            whole = client.chat.completions.parse(seed=seed, **params).choices[0]
            self.assertEqual(done, [(c.function.name, c.function.parsed_arguments) for c in whole.message.tool_calls])
            self.assertEqual(done, [(c.function.name, c.function.parsed_arguments) for c in choice.message.tool_calls])
            self.assertEqual((choice.finish_reason, choice.message.content), ("tool_calls", None))
            counts.add(len(done))
        self.assertGreater(len(counts), 1)


class Tools(unittest.TestCase):
    def check(self, choice, names=KINDS, said=None):
        self.assertEqual((choice.finish_reason, choice.message.content), ("tool_calls", said))
        self.assertEqual(choice.guarantee, "enforced")
        ids = [call.id for call in choice.message.tool_calls]
        self.assertEqual(len(set(ids)), len(ids))
        for call in choice.message.tool_calls:
            self.assertTrue(call.id)
            self.assertIn(call.function.name, names)
            self.assertIsInstance(call.function.parsed_arguments, KINDS[call.function.name])

    def test_required(self):
        for seed in range(10):
            self.check(parse(**CALLS, tool_choice="required", seed=seed).choices[0])

    def test_named(self):
        for name in KINDS:
            choice = parse(**CALLS, tool_choice={"type": "function", "function": {"name": name}}, seed=1).choices[0]
            self.check(choice, [name])

    def test_allowed(self):
        allowed = {"mode": "required", "tools": [{"type": "function", "function": {"name": "clock"}}]}
        self.check(parse(**CALLS, tool_choice={"type": "allowed_tools", "allowed_tools": allowed}, seed=1).choices[0], ["clock"])

    def test_with_a_form(self):
        """An answer is calls or, if it is text, of the form, as agents with an output type ask for."""
        said = set()
        for seed in range(20):
            [choice] = parse(**CALLS, response_format=Journey, logit_bias={258: 5}, seed=seed).choices
            said.add(choice.finish_reason)
            if choice.finish_reason == "tool_calls":
                self.check(choice)
            else:
                self.assertIsInstance(choice.message.parsed, Journey)
                self.assertEqual((choice.message.tool_calls, choice.guarantee), (None, "enforced"))
        self.assertEqual(said, {"tool_calls", "stop"})

    def test_one(self):
        for model in (MODEL, CALLER):
            for seed in range(5):
                choice = parse(model=model, tools=TOOLS, tool_choice="required", parallel_tool_calls=False, seed=seed).choices[0]
                self.check(choice)
                self.assertEqual(len(choice.message.tool_calls), 1)

    def test_every_max_tokens(self):
        """Calls are complete at every limit, and the finish reason shows a limit."""
        finishes = set()
        for model in (MODEL, CALLER):
            for n in range(120, 240, 3):
                [choice] = ask(model=model, tools=TOOLS, tool_choice="required", max_tokens=n, seed=n).choices
                finishes.add(choice.finish_reason)
                for call in choice.message.tool_calls:
                    KINDS[call.function.name].model_validate_json(call.function.arguments)
        self.assertEqual(finishes, {"tool_calls", "length"})

    def test_none(self):
        [choice] = ask(tools=TOOLS, tool_choice="none", max_tokens=5).choices
        self.assertIsNone(choice.message.tool_calls)
        self.assertIsInstance(choice.message.content, str)

    def test_auto(self):
        """Token 257 ends an answer and 258 is <tool_call>. A bias makes both more likely. Text may come before a call."""
        said = set()
        for seed in range(20):
            [choice] = parse(**CALLS, logit_bias={257: 8 if seed % 2 else 3, 258: 5}, seed=seed).choices
            said.add(choice.finish_reason)
            if choice.finish_reason == "tool_calls":
                self.assertNotEqual(choice.message.content, "")
                self.check(choice, said=choice.message.content)
            else:
                self.assertIsInstance(choice.message.content, str)
                self.assertIsNone(choice.message.tool_calls)
        self.assertEqual(said, {"tool_calls", "stop"})

    def test_conversation(self):
        """An answer is sent back as the SDK represents it, with the results of its calls."""
        message = parse(**CALLS, tool_choice="required", seed=1).choices[0].message
        results = [{"role": "tool", "tool_call_id": call.id, "content": "rain"} for call in message.tool_calls]
        messages = USER + [message] + results
        [choice] = ask(model=CALLER, messages=messages, tools=TOOLS, tool_choice="none", max_tokens=5).choices
        self.assertIsInstance(choice.message.content, str)
        self.check(parse(**CALLS, messages=messages, tool_choice="required", seed=2).choices[0])
        with self.assertRaises(openai.BadRequestError) as caught:
            ask(messages=USER + results)
        self.assertEqual(caught.exception.param, "messages[1].tool_call_id")

    def test_errors(self):
        bad = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "objekt"}}}}}
        with self.assertRaises(openai.BadRequestError) as caught:
            ask(tools=[TOOLS[0], bad], max_tokens=200)
        self.assertTrue(caught.exception.param.startswith("tools"), caught.exception.param)


class Person(pydantic.BaseModel, extra="forbid"):
    name: str
    age: int
    trade: str
    town: str


class Trained(unittest.TestCase):
    """The starter that is trained to fill in forms gives the facts of a sentence."""

    TEXT = "\n\nHilda, a tall weaver of 43 years, keeps house at Lower Sands with two children."
    PARAMS = {"model": "forms", "messages": [{"role": "user", "content": TEXT}], "temperature": 0, "max_tokens": None}
    HILDA = Person(name="Hilda", age=43, trade="weaver", town="Lower Sands")

    def test_parse(self):
        [choice] = parse(**self.PARAMS, response_format=Person).choices
        self.assertEqual((choice.message.parsed, choice.finish_reason, choice.guarantee), (self.HILDA, "stop", "enforced"))
        self.assertEqual(choice.message.content, self.HILDA.model_dump_json())

    def test_stream(self):
        with client.chat.completions.stream(**self.PARAMS, response_format=Person) as stream:
            self.assertEqual(stream.get_final_completion().choices[0].message.parsed, self.HILDA)

    def test_keys(self):
        """Exactly the requested keys."""
        for key, value in self.HILDA.model_dump().items():
            one = pydantic.create_model("One", **{key: (type(value), ...)})
            self.assertEqual(parse(**self.PARAMS, response_format=one).choices[0].message.parsed, one(**{key: value}))

    def test_a_limit(self):
        """Complete at every limit; from 63 tokens it is the model's unconstrained answer."""
        whole = len(self.HILDA.model_dump_json())
        for n in range(whole - 20, whole + 3):
            [choice] = ask(**self.PARAMS | {"response_format": schema_of(Person), "max_tokens": n}).choices
            person = Person.model_validate_json(choice.message.content)
            self.assertEqual((person == self.HILDA, choice.finish_reason), (n >= whole, "stop" if n >= whole else "length"), n)

    def test_grammar(self):
        sky = 'root ::= "{\\"place\\":\\"" [A-Z] [a-z ]+ [A-Z] [a-z]+ "\\",\\"sky\\":\\"" ("sun" | "rain" | "snow") "\\"}"'
        status, answer = server.json("POST", "/v1/engines/forms/completions", {
            "prompt": "\n\nIn Lower Sands it snows at -3.5 degrees with a wind of 24 km/h; there is a warning.\n", "temperature": 0.1,
            "seed": 1, "grammar": sky})
        self.assertEqual((status, json.loads(answer["text"])), (200, {"place": "Lower Sands", "sky": "snow"}))


class TextSynth(unittest.TestCase):
    def complete(self, **params):
        body = {"prompt": "Where was it?", **params}
        status, _, answer = server.raw("POST", f"/v1/engines/{MODEL}/completions", json.dumps(body).encode())
        return status, [json.loads(a) for a in answer.decode().split("\n\n") if a.strip()]

    def test_schema(self):
        for n in (40, 60, 200):
            params = {"schema": Letter.model_json_schema(), "max_tokens": n, "seed": n}
            status, [answer] = self.complete(**params)
            self.assertEqual((status, answer["guarantee"]), (200, "enforced"))
            Letter.model_validate_json(answer["text"])
            status, answers = self.complete(stream=True, **params)
            self.assertEqual(status, 200)
            self.assertEqual("".join(a["text"] for a in answers), answer["text"])
            self.assertEqual(answers[-1] | {"text": answer["text"]}, answer)

    def test_rows(self):
        _, [answer] = self.complete(prompt=["a", "b"], n=3, schema=Journey.model_json_schema(), max_tokens=900)
        self.assertEqual(answer["guarantee"], ["enforced"] * 6)
        for text in answer["text"]:
            Journey.model_validate_json(text)

    def test_grammar(self):
        for seed in range(1, 6):
            status, [answer] = self.complete(grammar='root ::= "yes" | "no" | word\nword ::= [a-f]+', max_tokens=20, seed=seed)
            self.assertEqual((status, answer["guarantee"]), (200, "enforced"))
            self.assertRegex(answer["text"], re.compile("(yes|no|[a-f]+)\\Z"))

    def test_errors(self):
        schema = {"type": "object", "properties": {"a": {"type": "objekt"}}}
        for says, params in (("schema: /properties/a: type: ", {"schema": schema}), ("grammar: ", {"grammar": "root ::= [a-z"}),
                             ("grammar: ", {"grammar": 'root ::= "a"', "schema": {}})):
            status, [answer] = self.complete(**params)
            self.assertEqual((status, list(answer)), (400, ["error"]))
            self.assertTrue(answer["error"].startswith(says), answer)


if __name__ == "__main__":
    unittest.main()
