"""Models of Bedrock and SageMaker, described by items of a DynamoDB table: items are
put while the server runs, and every dialect asks what they describe. AWS is what
cloud.py has of it."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import subprocess
import threading
import time
import unittest

import aleph_alpha_client
import openai

from cloud import CREDENTIALS, TABLE, Cloud, Dynamo, Fault
from server import Server

CLAUDE = "us.anthropic.claude-sonnet-4-20250514-v1:0"
LLAMA = "meta.llama3-8b-instruct-v1:0"
TGI = "tgi.mistral-endpoint"
SCHEMAS = pathlib.Path(__file__).parents[2] / "schemas"
WITHIN = 5  # seconds in which a change takes effect
ROWS = [(CLAUDE, "bedrock", "Claude"), (LLAMA, "bedrock", "Llama"), (TGI, "sagemaker", "Mistral")]


def record(sk):
    return json.loads((SCHEMAS / f"{sk}.json").read_text())


def listing(rows):
    return {"pk": "models", "sk": "all-models", "models": [
        {"model_type": kind, "model_name": name, "model_family": family, "streaming": True} for name, family, kind in rows]}


def environment(cloud, dynamo):
    return CREDENTIALS | {
        "GLOSSA_DYNAMODB_ENDPOINT": dynamo.url, "GLOSSA_BEDROCK_ENDPOINT": cloud.url, "GLOSSA_SAGEMAKER_ENDPOINT": cloud.url, "GLOSSA_TABLE": TABLE}


def glossa(env, *args, status=0):
    """Runs an operator's command and returns its output."""
    keep = {k: os.environ[k] for k in ("PATH", "HOME") if k in os.environ}
    done = subprocess.run([os.environ["GLOSSA"], *args], env=keep | env, capture_output=True, text=True)
    if done.returncode != status:
        raise AssertionError(f"glossa {' '.join(args)} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return (done.stdout + (done.stderr if status else "")).strip()


def eventually(check, seconds=WITHIN + 1):
    """Polls check and returns its first true value, in time."""
    deadline = time.monotonic() + seconds
    while True:
        if value := check():
            return value
        if time.monotonic() > deadline:
            raise AssertionError("it did not come true in time")
        time.sleep(0.05)


class CloudTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cloud = cls.enterClassContext(Cloud())
        cls.dynamo = cls.enterClassContext(Dynamo())
        for sk in ("bedrock-anthropic", "bedrock-meta", "sagemaker-tgi"):
            cls.dynamo.put(record(sk))
        cls.dynamo.put(listing(ROWS))
        env = environment(cls.cloud, cls.dynamo)
        cls.server = cls.enterClassContext(Server("--table-name", env.pop("GLOSSA_TABLE"), env=env))
        cls.client = cls.enterClassContext(cls.server.client())

    def setUp(self):
        self.cloud.__dict__.update(words=["Tall", " ships", " — and", " winds", "."], calls=[], pause=0, seen=None)
        self.cloud.requests.clear()
        self.cloud.faults.clear()
        self.text = "".join(self.cloud.words)

    def listed(self):
        """The names that /list_models has."""
        return [m["model_name"] for m in self.server.json("GET", "/list_models")[1]["models"]]

    def invoke(self, name, family, **body):
        return self.server.json("POST", "/invoke", {"model_name": name, "model_family": family, "body": body})

    def invoke_stream(self, name, family, **body):
        """The lines of the answer; API layer's client sends no Content-Type."""
        data = json.dumps({"model_name": name, "model_family": family, "body": body}).encode()
        status, headers, answer = self.server.raw("POST", "/invoke_stream", data)
        self.assertEqual((status, headers["Content-Type"]), (200, "application/x-ndjson"))
        return [json.loads(line) for line in answer.decode().splitlines()]


class Invoke(CloudTest):
    """The API layer's own routes."""

    def test_models_are_listed(self):
        _, answer = self.server.json("GET", "/list_models")
        for name, family, kind in ROWS:
            self.assertIn({"model_type": kind, "model_name": name, "model_family": family, "streaming": True}, answer["models"])

    def test_one_body_every_provider(self):
        for name, family, _ in ROWS:
            with self.subTest(name):
                status, answer = self.invoke(name, family, prompt="Say it", max_new_tokens=50)
                self.assertEqual((status, answer["generated_text"]), (200, self.text))
        self.assertEqual([r["path"] for r in self.cloud.requests], [
            f"/model/{CLAUDE}/invoke", f"/model/{LLAMA}/invoke", "/endpoints/mistral-endpoint/invocations"])
        self.assertEqual([r["body"].get("max_tokens") or r["body"].get("max_gen_len") or r["body"]["parameters"]["max_new_tokens"]
                          for r in self.cloud.requests], [50, 50, 50])
        status, answer = self.invoke("novels", "local", prompt="Say it", max_new_tokens=5)
        self.assertTrue(status == 200 and answer["generated_text"], answer)

    def test_one_stream_every_provider(self):
        for name, family, _ in ROWS:
            with self.subTest(name):
                lines = self.invoke_stream(name, family, prompt="Say it", max_new_tokens=50)
                pieces = [line["generated_text"] for line in lines if line.get("generated_text")]
                self.assertEqual(pieces, self.cloud.words)
        self.assertTrue(all(r["path"].endswith("-stream") for r in self.cloud.requests))

    def test_unmapped_keys_are_refused_in_upstreams_shape(self):
        status, answer = self.invoke(LLAMA, "bedrock", prompt="Say it", typical_p=0.5)
        self.assertEqual(status, 200)
        self.assertIn("typical_p", answer["error"])
        self.assertEqual(self.cloud.requests, [])
        status, answer = self.server.json("POST", "/invoke", {
            "model_name": LLAMA, "model_family": "bedrock", "ignore_unmapped": True, "body": {"prompt": "Say it", "typical_p": 0.5}})
        self.assertEqual((status, answer["generated_text"]), (200, self.text))

    def test_an_error_in_a_stream_is_its_last_line(self):
        for fault in (Fault(after=3, kind="exception", code="throttlingException"), Fault(after=3, kind="corrupt"), Fault(after=3, kind="cut")):
            with self.subTest(fault.kind):
                self.cloud.faults[:] = [fault]
                lines = self.invoke_stream(LLAMA, "bedrock", prompt="Say it")
                self.assertEqual([line["generated_text"] for line in lines[:-1]], self.cloud.words[:3])
                self.assertTrue(lines[-1]["error"], lines)

    def test_refused_by_the_provider(self):
        self.cloud.faults[:] = [Fault(403, "AccessDeniedException")]
        status, answer = self.invoke(CLAUDE, "bedrock", prompt="Say it")
        self.assertTrue(status == 200 and answer["error"], answer)


class Records(CloudTest):
    """Models are added, changed and deleted under a running server."""

    def test_an_item_is_served_within_seconds(self):
        name = "meta.llama-new-v1:0"
        self.assertNotIn(name, self.listed())
        self.dynamo.put(listing([*ROWS, (name, "bedrock", "Llama")]))
        self.addCleanup(self.dynamo.put, listing(ROWS))
        eventually(lambda: name in self.listed())
        self.assertEqual(self.invoke(name, "bedrock", prompt="x")[1].get("generated_text"), self.text)
        self.assertEqual(self.cloud.requests[-1]["path"], f"/model/{name}/invoke")
        self.dynamo.put(listing(ROWS))
        eventually(lambda: name not in self.listed())

    def test_strings_of_json_as_upstream_writes_them(self):
        own = record("bedrock-meta")
        own["sk"], own["schema"] = "bedrock-acme", json.dumps(own["schema"])
        rows = listing([*ROWS, ("acme.one-v1", "bedrock", "Acme")])
        rows["models"] = json.dumps(rows["models"])
        self.dynamo.put(own)
        self.dynamo.put(rows)
        self.addCleanup(self.dynamo.put, listing(ROWS))
        self.addCleanup(self.dynamo.delete, "models", "bedrock-acme")
        eventually(lambda: "acme.one-v1" in self.listed())
        self.assertEqual(self.invoke("acme.one-v1", "bedrock", prompt="x")[1].get("generated_text"), self.text)

    def test_a_bad_record_hides_no_other(self):
        bad = record("bedrock-meta")
        bad["sk"] = "bedrock-broken"
        bad["schema"]["request"]["mapping"]["prompt"] = "$.["
        self.dynamo.put(bad)
        self.addCleanup(self.dynamo.delete, "models", "bedrock-broken")
        self.dynamo.put(listing([*ROWS, ("broken.one", "bedrock", "Broken"), ("meta.after-v1", "bedrock", "Llama")]))
        self.addCleanup(self.dynamo.put, listing(ROWS))
        eventually(lambda: "meta.after-v1" in self.listed())
        self.assertEqual(self.invoke("meta.after-v1", "bedrock", prompt="x")[1].get("generated_text"), self.text)
        self.assertIn("error", self.invoke("broken.one", "bedrock", prompt="x")[1])

    def test_changes_under_load_lose_nothing(self):
        stop = time.monotonic() + 2 * WITHIN

        def ask():
            count = 0
            while time.monotonic() < stop:
                _, answer = self.invoke(LLAMA, "bedrock", prompt="x")
                self.assertEqual(answer.get("generated_text"), self.text)
                count += 1
            return count

        def change():
            seen = 0
            while time.monotonic() < stop - WITHIN:
                name = f"meta.model-{seen}"
                self.dynamo.put(listing([*ROWS, (name, "bedrock", "Llama")]))
                eventually(lambda: name in self.listed())
                seen += 1
            return seen

        self.addCleanup(self.dynamo.put, listing(ROWS))
        with concurrent.futures.ThreadPoolExecutor(9) as pool:
            changes = pool.submit(change)
            counts = [pool.submit(ask) for _ in range(8)]
            self.assertGreater(min(f.result() for f in counts), 0)
            self.assertGreater(changes.result(), 0)

    def test_an_outage_of_the_table(self):
        self.invoke(LLAMA, "bedrock", prompt="x")
        self.dynamo.pause()
        try:
            end = time.monotonic() + WITHIN + 2
            while time.monotonic() < end:
                _, answer = self.invoke(LLAMA, "bedrock", prompt="x")
                self.assertEqual(answer.get("generated_text"), self.text)
        finally:
            self.dynamo.go_on()
        self.dynamo.put(listing([*ROWS, ("meta.later-v1", "bedrock", "Llama")]))
        self.addCleanup(self.dynamo.put, listing(ROWS))
        eventually(lambda: "meta.later-v1" in self.listed(), 3 * WITHIN)


class Resilience(CloudTest):
    """Records that name fallbacks and for how long answers are kept."""

    def setUp(self):
        super().setUp()
        own = record("bedrock-meta") | {"sk": f"bedrock-{LLAMA}", "fallbacks": [CLAUDE], "cache_seconds": 60}
        self.dynamo.put(own)
        self.addCleanup(self.dynamo.delete, "models", own["sk"])
        eventually(lambda: self.ask("is it there?")[1].get("X-Glossa-Model"))
        self.cloud.requests.clear()

    def ask(self, prompt, **more):
        body = {"model": LLAMA, "messages": [{"role": "user", "content": prompt}], **more}
        status, headers, answer = self.server.raw("POST", "/v1/chat/completions", json.dumps(body))
        return status, headers, json.loads(answer)

    def test_another_model_answers(self):
        self.cloud.faults[:] = [Fault(503, "ServiceUnavailableException")] * 3
        status, headers, answer = self.ask("Say it")
        self.assertEqual((status, headers["X-Glossa-Model"], answer["choices"][0]["message"]["content"]), (200, CLAUDE, self.text))
        self.assertEqual(self.cloud.requests[-1]["path"], f"/model/{CLAUDE}/invoke")

    def test_what_the_client_did_wrong_falls_nowhere(self):
        status, _, _ = self.ask("Say it", presence_penalty=0.5)
        self.assertEqual((status, self.cloud.requests), (400, []))

    def test_an_exact_repeat_is_answered_from_memory(self):
        first, second = self.ask("Twice", temperature=0), self.ask("Twice", temperature=0)
        self.assertEqual([h["X-Glossa-Cache"] for _, h, _ in (first, second)], ["miss", "hit"])
        self.assertEqual(first[2]["choices"], second[2]["choices"])
        self.assertEqual(len(self.cloud.requests), 1)
        self.assertIsNone(self.ask("Twice", temperature=0.7)[1]["X-Glossa-Cache"])

    def test_traces_go_on(self):
        trace = "Root=1-67891233-abcdef012345678912345678;Parent=53995c3f42cd8ad8;Sampled=1"
        self.server.raw("POST", "/v1/chat/completions", json.dumps({
            "model": LLAMA, "messages": [{"role": "user", "content": "x"}]}), {"X-Amzn-Trace-Id": trace})
        self.assertEqual(self.cloud.requests[-1]["headers"].get("X-Amzn-Trace-Id"), trace)


class Operator(unittest.TestCase):
    """The commands that change the table, and servers without their table."""

    def test_models_from_nothing_to_an_answer(self):
        with contextlib.ExitStack() as stack:
            cloud, dynamo = stack.enter_context(Cloud()), stack.enter_context(Dynamo())
            env = environment(cloud, dynamo)
            glossa(env, "models", "init")
            server = stack.enter_context(Server(env=env))
            glossa(env, "models", "add", "--name", LLAMA, "--family", "bedrock", "--type", "Llama")
            self.assertIn(LLAMA, glossa(env, "models"))
            glossa(env, "models", "check")
            ask = {"model_name": LLAMA, "model_family": "bedrock", "body": {"prompt": "x"}}
            eventually(lambda: server.json("POST", "/invoke", ask)[1].get("generated_text") == "".join(cloud.words))
            refused = glossa(env, "models", "add", "--name", "nobody.knows-v1", "--family", "bedrock", "--type", "X", status=1)
            self.assertIn("nobody", refused)
            glossa(env, "models", "remove", LLAMA)
            eventually(lambda: LLAMA not in str(server.json("GET", "/list_models")[1]))

    def test_sixteen_at_once_lose_none(self):
        with contextlib.ExitStack() as stack:
            cloud, dynamo = stack.enter_context(Cloud()), stack.enter_context(Dynamo())
            env = environment(cloud, dynamo)
            glossa(env, "models", "init")
            names = [f"meta.llama-{i}-v1:0" for i in range(16)]
            with concurrent.futures.ThreadPoolExecutor(16) as pool:
                list(pool.map(lambda n: glossa(env, "models", "add", "--name", n, "--family", "bedrock", "--type", "Llama"), names))
            listed = glossa(env, "models")
            self.assertEqual([n for n in names if n not in listed], [])

    def test_no_table_and_no_service(self):
        with Cloud() as cloud, Dynamo() as dynamo:
            env = environment(cloud, dynamo)
            self.assertIn("nowhere", glossa(env | {"GLOSSA_TABLE": "nowhere"}, "models", "init", status=1))
            for wrong in ({"GLOSSA_TABLE": "nowhere"}, {"GLOSSA_DYNAMODB_ENDPOINT": "http://127.0.0.1:1"}):
                with self.subTest(wrong), Server(env=env | wrong) as server:
                    answer = server.client().chat.completions.create(model="novels", messages=[{"role": "user", "content": "x"}], max_tokens=2)
                    self.assertTrue(answer.choices[0].message.content)
                    ask = json.dumps({"model": LLAMA, "messages": [{"role": "user", "content": "x"}]})
                    status, headers, _ = server.raw("POST", "/v1/chat/completions", ask)
                    self.assertEqual(status, 503)
                    self.assertGreater(int(headers["Retry-After"]), 0)

    def test_the_table_keeps_its_contract(self):
        with Dynamo() as dynamo:
            done = subprocess.run(["go", "test", "-count=1", "./pkg/table/...", "-dynamodb", dynamo.url],
                                  cwd=SCHEMAS.parent, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Dialects(CloudTest):
    """The clients of every dialect over remote models."""

    def test_openai_chat(self):
        for name, _, _ in ROWS[:2]:
            for streamed in (False, True):
                with self.subTest(name, streamed=streamed):
                    answer = self.client.chat.completions.create(
                        model=name, messages=[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say it"}],
                        max_tokens=50, stream=streamed, **({"stream_options": {"include_usage": True}} if streamed else {}))
                    chunks = list(answer) if streamed else []
                    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) if streamed else answer.choices[0].message.content
                    usage = chunks[-1].usage if streamed else answer.usage
                    finish = [c.choices[0].finish_reason for c in chunks if c.choices][-1] if streamed else answer.choices[0].finish_reason
                    self.assertEqual((text, finish), (self.text, "stop"))
                    self.assertEqual((usage.prompt_tokens, usage.completion_tokens), (7, 5))
        self.assertEqual(self.cloud.requests[0]["body"]["system"], "Be brief.")
        self.assertIn("Be brief.", self.cloud.requests[2]["body"]["prompt"])

    def test_openai_sdk_defaults_are_never_refused(self):
        answer = self.client.chat.completions.create(
            model=LLAMA, messages=[{"role": "user", "content": "Say it"}], n=1, presence_penalty=0, frequency_penalty=0,
            logprobs=False, stream=False, temperature=0.5, top_p=0.9)
        self.assertEqual(answer.choices[0].message.content, self.text)

    def test_openai_refuses_by_name(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.chat.completions.create(model=LLAMA, messages=[{"role": "user", "content": "x"}], presence_penalty=0.5)
        self.assertEqual(caught.exception.param, "presence_penalty")

    def test_openai_tools(self):
        """Claude calls functions, whole and streamed, and reads their results."""
        self.cloud.calls = [("weather", {"unit": "C", "city": "Paris"}), ("now", {})]
        tools = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in ("weather", "now")]
        ask = {"model": CLAUDE, "messages": [{"role": "user", "content": "The weather?"}], "tools": tools}
        whole = self.client.chat.completions.create(**ask).choices[0]
        calls = [(c.id, c.function.name, json.loads(c.function.arguments)) for c in whole.message.tool_calls]
        self.assertEqual(calls, [(f"toolu_{i}", name, arguments) for i, (name, arguments) in enumerate(self.cloud.calls)])
        self.assertEqual((whole.message.content, whole.finish_reason), (self.text, "tool_calls"))
        with self.client.chat.completions.stream(**ask) as stream:
            final = stream.get_final_completion().choices[0]
        self.assertEqual([(c.id, c.function.name, json.loads(c.function.arguments)) for c in final.message.tool_calls], calls)
        self.assertEqual(final.finish_reason, "tool_calls")

        ask["messages"] += [whole.message] + [{"role": "tool", "tool_call_id": c.id, "content": "20"} for c in whole.message.tool_calls]
        self.client.chat.completions.create(**ask, tool_choice={"type": "function", "function": {"name": "now"}}, parallel_tool_calls=False)
        sent = self.cloud.requests[-1]["body"]
        self.assertEqual([m["role"] for m in sent["messages"]], ["user", "assistant", "user"])
        self.assertEqual([b["tool_use_id"] for b in sent["messages"][2]["content"]], ["toolu_0", "toolu_1"])
        self.assertEqual(sent["tool_choice"], {"type": "tool", "name": "now", "disable_parallel_tool_use": True})

    def test_openai_images(self):
        pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

        def show(model, url):
            return self.client.chat.completions.create(model=model, messages=[{"role": "user", "content": [
                {"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": url}}]}])

        show(CLAUDE, "data:image/png;base64," + pixel)
        image = self.cloud.requests[-1]["body"]["messages"][0]["content"][1]
        self.assertEqual(image, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": pixel}})
        for model, url, words in (("novels", "data:image/png;base64," + pixel, "novels"), (CLAUDE, self.cloud.url + "/a.png", "does not fetch")):
            with self.assertRaises(openai.BadRequestError) as caught:
                show(model, url)
            self.assertIn(words, caught.exception.message)
        self.assertEqual(len(self.cloud.requests), 1)

    def test_openai_errors(self):
        ask = {"model": LLAMA, "messages": [{"role": "user", "content": "x"}]}
        self.cloud.faults[:] = [Fault(429, "ThrottlingException")] * 3
        with self.assertRaises(openai.RateLimitError) as caught:
            self.client.chat.completions.create(**ask)
        self.assertGreater(int(caught.exception.response.headers["retry-after"]), 0)
        self.cloud.faults[:] = [Fault(429, "ThrottlingException")]
        self.assertEqual(self.client.chat.completions.create(**ask).choices[0].message.content, self.text)
        self.cloud.faults[:] = [Fault(424, "ModelErrorException")] * 3
        with self.assertRaises(openai.InternalServerError) as caught:
            self.client.chat.completions.create(**ask)
        self.assertEqual(caught.exception.status_code, 502)
        self.cloud.faults[:] = [Fault(after=2, kind="exception", code="modelStreamErrorException")]
        pieces = []
        with self.assertRaises(openai.APIError):
            for chunk in self.client.chat.completions.create(stream=True, **ask):
                pieces += [c.delta.content for c in chunk.choices if c.delta.content]
        self.assertEqual(pieces, self.cloud.words[:2])

    def test_a_client_that_leaves_ends_the_call(self):
        self.cloud.words, self.cloud.pause = ["word "] * 2000, 0.005
        stream = self.client.chat.completions.create(model=LLAMA, messages=[{"role": "user", "content": "x"}], stream=True)
        next(iter(stream))
        stream.close()
        self.assertTrue(self.cloud.gone.acquire(timeout=60))

    def test_a_piece_is_there_before_the_next(self):
        self.cloud.seen = threading.Event()
        pieces = []
        for chunk in self.client.chat.completions.create(model=LLAMA, messages=[{"role": "user", "content": "x"}], stream=True):
            pieces += [c.delta.content for c in chunk.choices if c.delta.content]
            if pieces:
                self.cloud.seen.set()
        self.assertEqual(pieces, self.cloud.words)

    def test_a_slow_model_is_waited_for(self):
        self.cloud.faults[:] = [Fault(wait=3)]
        answer = self.client.chat.completions.create(model=LLAMA, messages=[{"role": "user", "content": "x"}])
        self.assertEqual(answer.choices[0].message.content, self.text)

    def test_many_streams_lose_nothing(self):
        self.cloud.words = [f"<{i}>" for i in range(40)]
        self.cloud.pause = 0.01

        def stream(n):
            lines = self.invoke_stream(LLAMA, "bedrock", prompt=str(n))
            return [line["generated_text"] for line in lines if line.get("generated_text")]

        with concurrent.futures.ThreadPoolExecutor(64) as pool:
            for pieces in pool.map(stream, range(500)):
                self.assertEqual(pieces, self.cloud.words)

    def test_structured_output_is_validated(self):
        self.cloud.words = ["Sure: ", '{"name": ', '"Ada", ', '"age": 36}']
        answer = self.client.chat.completions.with_raw_response.create(
            model=CLAUDE, messages=[{"role": "user", "content": "Who?"}], response_format={"type": "json_schema", "json_schema": {
                "name": "person", "strict": True, "schema": {"type": "object", "additionalProperties": False, "required": ["name", "age"],
                                                             "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}}})
        self.assertEqual(json.loads(answer.parse().choices[0].message.content), {"name": "Ada", "age": 36})
        self.assertEqual(answer.headers["x-glossa-guarantee"], "validated")

    def test_lamini_typed_output(self):
        self.cloud.words = ['{"age": 36}']
        status, answer = self.server.json("POST", "/v1/completions", {"model_name": CLAUDE, "prompt": "How old?", "output_type": {"age": "int"}})
        self.assertEqual((status, answer), (200, {"age": 36}))

    def test_textsynth(self):
        status, answer = self.server.json("POST", f"/v1/engines/{TGI}/completions", {"prompt": "Say it", "max_tokens": 20})
        self.assertEqual((status, answer["text"]), (200, self.text))
        status, _, body = self.server.raw("POST", f"/v1/engines/{TGI}/completions", json.dumps({"prompt": "Say it", "stream": True}))
        pieces = [json.loads(part) for part in body.decode().split("\n\n") if part]
        self.assertEqual("".join(p["text"] for p in pieces), self.text)
        self.assertTrue(status == 200 and pieces[-1]["reached_end"])
        status, answer = self.server.json("POST", f"/v1/engines/{TGI}/logprob", {"context": "a", "continuation": "b"})
        self.assertEqual(status, 400, answer)

    def test_aleph_alpha(self):
        client = aleph_alpha_client.Client("not-needed", host=self.server.url)
        request = aleph_alpha_client.CompletionRequest(prompt=aleph_alpha_client.Prompt.from_text("Say it"), maximum_tokens=20)
        self.assertEqual(client.complete(request, model=LLAMA).completions[0].completion, self.text)


class Limits(unittest.TestCase):
    """Accounts, limits and usage in the same table."""

    def test_keys_and_budgets_in_the_table(self):
        with contextlib.ExitStack() as stack:
            cloud, dynamo = stack.enter_context(Cloud()), stack.enter_context(Dynamo())
            dynamo.put(record("bedrock-meta"))
            dynamo.put(listing(ROWS[1:2]))
            env = environment(cloud, dynamo)
            key, watcher = glossa(env, "key", "create", "app", "--role", "client"), glossa(env, "key", "create", "eyes", "--role", "monitor")
            glossa(env, "key", "limit", "app", "--tokens-per-day", "100")
            server = stack.enter_context(Server("--auth", env=env))
            client = stack.enter_context(server.client(api_key=key))
            ask = {"model": LLAMA, "messages": [{"role": "user", "content": "x"}], "max_tokens": 5}
            refused = None
            for _ in range(20):
                try:
                    client.chat.completions.create(**ask)
                except openai.RateLimitError as error:
                    refused = error
                    break
            self.assertIsNotNone(refused, "100 tokens last for ever")
            self.assertGreater(int(refused.response.headers["retry-after"]), 0)
            status, _, body = server.raw("GET", "/usage", headers={"Authorization": f"Bearer {watcher}"})
            self.assertEqual(status, 200)
            self.assertIn("app", body.decode())
            self.assertEqual(server.raw("GET", "/usage", headers={"Authorization": f"Bearer {key}"})[0], 403)
            glossa(env, "key", "revoke", "app")
            eventually(lambda: server.raw("GET", "/list_models", headers={"Authorization": f"Bearer {key}"})[0] == 401)
            self.assertNotIn(key, str(dynamo.client.scan(TableName=TABLE)))
