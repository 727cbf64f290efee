"""Lamini's own SDK against the server: answers and errors."""

import asyncio
import json
import logging
import os
import tempfile
import unittest
import unittest.mock

import numpy

home = tempfile.TemporaryDirectory()  # where the SDK looks for its configuration
os.environ.update(HOME=home.name, LAMINI_API_KEY="not-needed", LAMINI_RETRY_LIMIT="1")

import lamini  # noqa: E402 - reads the environment
import openai  # noqa: E402
from lamini.api.utils.completion import Completion  # noqa: E402
from lamini.api.utils.reservations import Reservations  # noqa: E402
from lamini.api.versions import APIVersion  # noqa: E402
from lamini.error import error  # noqa: E402

from server import Server  # noqa: E402

PROMPTS = ["The old lighthouse", "One pale afternoon", "The castle", "Ida", "A"] * 5
logging.getLogger("lamini").setLevel(logging.CRITICAL)


def setUpModule():
    global server, client
    server = unittest.enterModuleContext(Server())
    lamini.api_url = server.url
    client = lamini.Lamini("novels")


def greedy(prompt, tokens):
    """The text as OpenAI's protocol has it."""
    with server.client() as c:
        return c.completions.create(model="novels", prompt=prompt, max_tokens=tokens, temperature=0).choices[0].text


class Generate(unittest.TestCase):
    def test_single(self):
        self.assertEqual(client.generate(PROMPTS[0], max_new_tokens=12), greedy(PROMPTS[0], 12))
        self.assertEqual(client.generate(PROMPTS[0], max_tokens=5), greedy(PROMPTS[0], 5))

    def test_list_keeps_its_order(self):
        texts = client.generate(PROMPTS, max_new_tokens=12)
        self.assertEqual(texts, [greedy(p, 12) for p in PROMPTS])
        self.assertEqual(client.generate(PROMPTS[:1], max_new_tokens=12), texts[:1])

    def test_without_a_limit(self):
        text = client.generate("The castle")
        self.assertTrue(text.startswith(client.generate("The castle", max_new_tokens=12)))
        self.assertEqual(text, greedy("The castle", 100_000))

    def test_model(self):
        self.assertEqual(client.generate("X:1", model_name="local/abc", max_new_tokens=3),
                         lamini.Lamini("abc").generate("X:1", max_new_tokens=3))

    def test_async(self):
        api = Completion("not-needed", server.url)
        body = api.make_llm_req_map("novels", PROMPTS, cache_id="c", max_new_tokens=6)
        outputs = asyncio.run(api.async_generate(body))
        self.assertEqual([o["output"] for o in outputs], client.generate(PROMPTS, max_new_tokens=6))

    def test_finish_reasons(self):
        """/v2, which the SDK does not use."""
        status, answer = server.json("POST", "/v2/completions", {"model_name": "novels", "prompt": PROMPTS[:3], "max_new_tokens": 4})
        self.assertEqual(status, 200)
        self.assertEqual([o["output"] for o in answer["outputs"]], client.generate(PROMPTS[:3], max_new_tokens=4))
        self.assertEqual(answer["finish_reason"], ["length"] * 3)

    def test_both_protocols_share_a_path(self):
        with server.client() as c, self.assertRaises(openai.BadRequestError) as caught:
            c.completions.create(model="novels", prompt="x", extra_body={"model_name": "novels"})
        self.assertEqual(caught.exception.param, "model")


KINDS = {"age": "int", "units": "str", "height": "float", "hat": "bool", "colour": ["red", "green"], "legs": [2, 4]}
TYPES = {"age": int, "units": str, "height": (int, float), "hat": bool, "colour": str, "legs": int}


class OutputType(unittest.TestCase):
    """Typed outputs of a model that has learnt nothing, which is held to the types, and
    of one that has learnt to fill in forms."""

    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Server("--checkpoints", os.environ["FORMS"]))
        cls.client = lamini.Lamini("letters", api_key="not-needed", api_url=cls.server.url)
        cls.enterClassContext(unittest.mock.patch.object(lamini, "api_url", cls.server.url))

    def check(self, output, kinds=KINDS):
        self.assertEqual(list(output), list(kinds))  # in this order
        for key, value in output.items():
            self.assertIsInstance(value, TYPES[key])
            self.assertEqual(isinstance(value, bool), kinds[key] == "bool")
            if isinstance(kinds[key], list):
                self.assertIn(value, kinds[key])

    def test_single(self):
        self.check(self.client.generate("How old is Carl?", output_type=KINDS, max_new_tokens=300))
        for key, kind in KINDS.items():
            self.check(self.client.generate("How old is Carl?", output_type={key: kind}, max_new_tokens=60), {key: kind})

    def test_list(self):
        outputs = self.client.generate(PROMPTS, output_type=KINDS, max_new_tokens=300)
        self.assertEqual(len(outputs), len(PROMPTS))
        for prompt, output in zip(PROMPTS, outputs):
            self.check(output)
            self.assertEqual(output, self.client.generate(prompt, output_type=KINDS, max_new_tokens=300))
        [output] = self.client.generate(PROMPTS[:1], output_type=KINDS, max_new_tokens=300)
        self.check(output)

    def test_trained(self):
        carl = "\n\nCarl, the llama with a hat, is 10 years old. How old is Carl?\n"
        ida = "\n\nIda, a llama with a bell, is 12 years old. How old is Ida?\n"
        forms = lamini.Lamini("forms", api_key="not-needed", api_url=self.server.url)
        self.assertEqual(forms.generate(carl, output_type={"answer": "str", "age": "int", "units": "str"}),
                         {"answer": "Carl is 10 years old", "age": 10, "units": "years"})
        kinds = {"age": "int", "units": ["years", "months"]}
        want = [{"age": 10, "units": "years"}, {"age": 12, "units": "years"}]
        self.assertEqual(forms.generate([carl, ida], output_type=kinds), want)
        status, answer = self.server.json("POST", "/v2/completions", {"model_name": "forms", "prompt": [carl, ida], "output_type": kinds})
        self.assertEqual((status, answer), (200, {"outputs": want, "finish_reason": ["stop", "stop"]}))

    def test_without_a_limit(self):
        bounded = {k: v for k, v in KINDS.items() if v != "str"}
        self.check(self.client.generate("How old is Carl?", output_type=bounded), bounded)
        self.check(self.client.generate("How old is Carl?", output_type=KINDS, max_tokens=None))

    def test_every_max_new_tokens(self):
        least, kinds = None, {"age": "int", "units": "str"}
        for n in range(1, 60):
            try:
                self.check(self.client.generate("How old is Carl?", output_type=kinds, max_new_tokens=n), kinds)
                least = least or n
            except error.UserError as e:
                self.assertIn("max_new_tokens", str(e))
                self.assertIsNone(least)
        self.assertLessEqual(least, len('{"age":0,"units":""}'))

    def test_finish_reasons(self):
        for kinds, reasons in (({"hat": "bool"}, {"stop"}), ({"age": "int", "units": "str"}, {"stop", "length"})):
            status, answer = self.server.json("POST", "/v2/completions", {
                "model_name": "letters", "prompt": PROMPTS[:3], "output_type": kinds, "max_new_tokens": 40})
            self.assertEqual(status, 200)
            for output in answer["outputs"]:
                self.check(output, kinds)
            self.assertLessEqual(set(answer["finish_reason"]), reasons)

    def test_errors(self):
        for says, kinds in (("age", {"age": "integer"}), ("age", {"age": {"type": "int"}}), ("age", {"age": []}), ("output_type", {})):
            with self.subTest(kinds=kinds), self.assertRaisesRegex(error.UserError, says):
                self.client.generate("x", output_type=kinds)

    def test_pipeline(self):
        class Nodes(lamini.GenerationPipeline):
            def __init__(self, url):
                super().__init__(api_key="not-needed", api_url=url)
                self.generate = lamini.GenerationNode("letters", max_new_tokens=300)

            def forward(self, prompts):
                return self.generate(prompts, output_type=KINDS)

        async def run():
            return await Nodes(self.server.url).call_with_result(iter([lamini.PromptObject(p) for p in PROMPTS[:7]]))

        with unittest.mock.patch.object(lamini, "gate_pipeline_batch_completions", False):
            for answer in asyncio.run(run()):
                self.check(answer.response)


class Pipeline(unittest.TestCase):
    """The SDK's pipeline, whose batches can be sent to /v1/completions."""

    def run_pipeline(self):
        class Nodes(lamini.GenerationPipeline):
            def __init__(self):
                super().__init__(api_key="not-needed", api_url=server.url)
                self.generate = lamini.GenerationNode("novels", max_new_tokens=6)

            def forward(self, prompts):
                return self.generate(prompts)

        async def run():
            return await Nodes().call_with_result(iter([lamini.PromptObject(p) for p in PROMPTS]))

        return {p.prompt: p.response["output"] for p in asyncio.run(run())}

    def test_pipeline(self):
        want = dict(zip(PROMPTS, client.generate(PROMPTS, max_new_tokens=6)))
        for bypass in (True, False):  # without reservations, and with one refused
            with self.subTest(bypass=bypass), \
                    unittest.mock.patch.object(lamini, "gate_pipeline_batch_completions", False), \
                    unittest.mock.patch.object(lamini, "bypass_reservation", bypass):
                self.assertEqual(self.run_pipeline(), want)

    def test_reservations_are_refused_and_done_without(self):
        with unittest.mock.patch.object(lamini, "bypass_reservation", False):
            api = Reservations("not-needed", server.url)
            api.initialize_reservation(capacity=20, model_name="novels", batch_size=5, max_tokens=None)
        self.assertIsNone(api.current_reservation)
        self.assertEqual(api.dynamic_max_batch_size, 5)


class Embeddings(unittest.TestCase):
    def test_vectors(self):
        api = lamini.Embedding("novels")
        one, both = api.generate("The castle"), api.generate(["The castle", "Ida"])
        self.assertEqual(one.shape, (1, server.config("novels")["nEmbd"]))
        self.assertEqual(len(both), 2)
        numpy.testing.assert_allclose(both[0], one, atol=1e-6)
        with server.client() as c:
            [data] = c.embeddings.create(model="novels", input="The castle").data
        numpy.testing.assert_allclose(one[0] / numpy.linalg.norm(one[0]), data.embedding, atol=1e-6)


class Version(unittest.TestCase):
    def test_version(self):
        self.assertEqual(client.version()["server"], "1.0.0")
        versions = APIVersion()
        self.assertEqual(versions.client_version, lamini.__version__)
        self.assertEqual(versions.features_to_api_versions["completions"], {1, 2})


class Errors(unittest.TestCase):
    def test_exceptions(self):
        long = "The castle stood. " * 2000
        for kind, says, call in (
                (error.ModelNotFoundError, "no-such-model", lambda: client.generate("x", model_name="no-such-model")),
                (error.UserError, "output_type", lambda: client.generate("x", output_type={"age": "int"})),
                (error.UserError, "context", lambda: client.generate(long)),
                (error.UserError, "max_new_tokens", lambda: client.generate("x", max_new_tokens=0)),
                (error.UserError, "prompt", lambda: client.generate([])),
                (error.ModelNotFoundError, "no-such-model", lambda: lamini.Embedding("no-such-model").generate("x")),
                (error.UserError, "embedder|translates", lambda: lamini.Lamini("phrases").generate("x"))):
            with self.subTest(says=says), self.assertRaisesRegex(kind, says):
                call()

    def test_async_exception(self):
        api = Completion("not-needed", server.url)
        with self.assertRaises(error.ModelNotFoundError):
            asyncio.run(api.async_generate(api.make_llm_req_map("no-such-model", "x")))

    def test_keys(self):
        with Server("--auth", env={"GLOSSA_KEYS": "client:a-key-that-is-long-enough"}) as closed:
            with self.assertRaises(error.AuthenticationError):
                lamini.Lamini("novels", api_key="wrong", api_url=closed.url).generate("x")
            key = lamini.Lamini("novels", api_key="a-key-that-is-long-enough", api_url=closed.url)
            self.assertTrue(key.generate("The castle", max_new_tokens=2))
            self.assertTrue(key.version())

    def test_shape(self):
        status, _, body = server.raw("POST", "/v1/completions", b"{", {"Lamini-Version": "3.2.22"})
        self.assertEqual((status, json.loads(body)["detail"][0]["loc"]), (422, ["body"]))
