"""Completions and embeddings through the official OpenAI SDK."""

import base64
import json
import math
import unittest

import numpy
import openai

from server import ENCODERS, STARTERS, VECTORS, Server, counts

PROMPTS = {"novels": "The old lighthouse stood", "abc": "X:1\nT:The Kettle\nM:3/4", "chords": "C-major pop : chorus",
           "forms": "\n\nHilda, a tall weaver"}


def setUpModule():
    global server, client
    server = unittest.enterModuleContext(Server())
    client = server.client()


def create(prompt, model="novels", **params):
    return client.completions.create(model=model, prompt=prompt, **params)


class Completions(unittest.TestCase):
    def test_shape_and_defaults(self):
        answer = create(PROMPTS["novels"], seed=1)
        self.assertTrue(answer.id.startswith("cmpl-"))
        self.assertEqual((answer.object, answer.model), ("text_completion", "novels"))
        self.assertEqual(answer.usage.completion_tokens, 16)
        self.assertEqual(answer.usage.total_tokens, answer.usage.prompt_tokens + 16)
        [choice] = answer.choices
        self.assertEqual((choice.index, choice.finish_reason, choice.logprobs), (0, "length", None))

    def test_a_list_is_its_prompts(self):
        prompts = ["The old lighthouse", "One pale afternoon", "The castle"]
        params = {"temperature": 0.8, "seed": 3, "max_tokens": 20, "n": 2}
        whole = create(prompts, **params)
        self.assertEqual([c.index for c in whole.choices], list(range(6)))
        alone = [c.text for prompt in prompts for c in create(prompt, **params).choices]
        self.assertEqual([c.text for c in whole.choices], alone)

    def test_stream_is_the_whole(self):
        params = {"seed": 5, "temperature": 1, "max_tokens": 30, "n": 2, "logprobs": 2}
        whole = create(["The castle", "Ida"], **params)
        texts, finishes, tokens, usage = {}, {}, {}, None
        for chunk in create(["The castle", "Ida"], stream=True, stream_options={"include_usage": True}, **params):
            usage = chunk.usage
            for choice in chunk.choices:
                texts[choice.index] = texts.get(choice.index, "") + choice.text
                finishes[choice.index] = choice.finish_reason
                for key, values in choice.logprobs.model_dump().items():
                    tokens.setdefault((choice.index, key), []).extend(values)
        for choice in whole.choices:
            self.assertEqual(texts[choice.index], choice.text)
            self.assertEqual(finishes[choice.index], choice.finish_reason)
            for key, values in choice.logprobs.model_dump().items():
                self.assertEqual(tokens[choice.index, key], values)
        self.assertEqual(counts(usage), counts(whole.usage))

    def test_logprobs(self):
        for model in STARTERS:
            with self.subTest(model=model):
                prompt = PROMPTS[model]
                [choice] = create(prompt, model, max_tokens=6, temperature=0, logprobs=3, echo=True).choices
                lp = choice.logprobs
                self.assertEqual("".join(lp.tokens), choice.text)
                self.assertTrue(choice.text.startswith(prompt))
                self.assertIsNone(lp.token_logprobs[0])
                self.assertEqual(lp.top_logprobs[0], {})
                for i, offset in enumerate(lp.text_offset):
                    self.assertTrue(choice.text[offset:].startswith(lp.tokens[i]))
                for value, token, top in list(zip(lp.token_logprobs, lp.tokens, lp.top_logprobs))[1:]:
                    self.assertEqual(top[token], value)
                    self.assertLessEqual(value, max(top.values()))
                    self.assertIn(len(top), (3, 4))
                    self.assertLess(sum(map(math.exp, top.values())), 1 + 1e-9)
                n = len(lp.tokens) - 6  # greedy: each new token is the likeliest
                self.assertEqual(lp.token_logprobs[n:], [max(top.values()) for top in lp.top_logprobs[n:]])

                [alone] = create(prompt, model, max_tokens=6, temperature=0, logprobs=3).choices
                self.assertEqual(alone.text, choice.text[len(prompt):])
                self.assertEqual(alone.logprobs.text_offset, lp.text_offset[n:])
                self.assertEqual(alone.logprobs.token_logprobs, lp.token_logprobs[n:])
                [scored] = create(choice.text, model, max_tokens=0, logprobs=3, echo=True).choices
                self.assertEqual(scored.text, choice.text)
                if model != "novels":  # whose tokens depend on what follows
                    numpy.testing.assert_allclose(scored.logprobs.token_logprobs[1:], lp.token_logprobs[1:], atol=1e-5)

    def test_tokens(self):
        """Token ids in, and the text that they are."""
        [one] = create([5, 6, 7], "abc", max_tokens=0, echo=True, logprobs=0).choices
        both = create([[5, 6, 7], [8]], "abc", max_tokens=0, echo=True, logprobs=0)
        self.assertEqual([both.choices[0].text, both.choices[0].logprobs], [one.text, one.logprobs])
        self.assertEqual(len(one.text), 3)
        self.assertEqual(both.usage.prompt_tokens, 4)
        again = create(one.text, "abc", max_tokens=4, temperature=0)
        self.assertEqual(again.choices[0].text, create([5, 6, 7], "abc", max_tokens=4, temperature=0).choices[0].text)

    def test_best_of(self):
        params = {"seed": 9, "max_tokens": 10, "temperature": 1, "logprobs": 0}
        means = {c.text: numpy.mean(c.logprobs.token_logprobs) for c in create("The castle", n=6, **params).choices}
        best = [c.text for c in create("The castle", n=2, best_of=6, **params).choices]
        self.assertEqual(best, sorted(means, key=means.get, reverse=True)[:2])

    def test_stop_and_bias(self):
        text = create("The old lighthouse", temperature=0, max_tokens=30).choices[0].text
        cut = create("The old lighthouse", temperature=0, max_tokens=30, stop=[","]).choices[0]
        self.assertEqual((cut.text, cut.finish_reason), (text.partition(",")[0], "stop"))

    def test_refused(self):
        for param, params in (
                ("suffix", {"suffix": "x"}), ("best_of", {"n": 3, "best_of": 2}), ("logprobs", {"logprobs": 21}),
                ("max_tokens", {"max_tokens": -1}), ("stop", {"stop": ["a"] * 33}),
                ("prompt", {"prompt": [10**9]}), ("prompt", {"prompt": []}), ("prompt", {"prompt": "The castle. " * 2000}),
                ("model", {"model": ""}), ("model", {"extra_body": {"model_name": "novels"}})):
            with self.subTest(param=param, params=params), self.assertRaises(openai.BadRequestError) as caught:
                create(**{"prompt": "x", **params})
            self.assertEqual(caught.exception.param, param)
        with self.assertRaises(openai.NotFoundError):
            create("x", "no-such-model")


class Embeddings(unittest.TestCase):
    def test_both_encodings_are_one_vector(self):
        texts = ["The castle", "The old lighthouse stood"]
        packed = client.embeddings.create(model="novels", input=texts)  # the SDK asks for base64 and unpacks it
        plain = client.embeddings.create(model="novels", input=texts, encoding_format="float")
        raw = client.embeddings.create(model="novels", input=texts, encoding_format="base64")
        self.assertEqual([d.index for d in packed.data], [0, 1])
        self.assertEqual(packed.usage.prompt_tokens, packed.usage.total_tokens)
        for a, b, c in zip(packed.data, plain.data, raw.data):
            self.assertEqual(numpy.asarray(a.embedding, "<f4").tobytes(), numpy.asarray(b.embedding, "<f4").tobytes())
            self.assertEqual(base64.b64decode(c.embedding), numpy.asarray(a.embedding, "<f4").tobytes())
            self.assertAlmostEqual(numpy.linalg.norm(a.embedding), 1, 5)

    def test_a_list_is_its_texts(self):
        texts = ["X:1", "X:2\nT:Old", "|"]
        together = client.embeddings.create(model="abc", input=texts)
        for text, data in zip(texts, together.data):
            [alone] = client.embeddings.create(model="abc", input=text).data
            numpy.testing.assert_allclose(alone.embedding, data.embedding, atol=1e-6)

    def test_dimensions(self):
        width = server.config("novels")["nEmbd"]
        [data] = client.embeddings.create(model="novels", input="x", dimensions=width).data
        self.assertEqual(len(data.embedding), width)
        for bad in (width - 1, width + 1, 0):
            with self.assertRaises(openai.BadRequestError) as caught:
                client.embeddings.create(model="novels", input="x", dimensions=bad)
            self.assertEqual(caught.exception.param, "dimensions")

    def test_refused(self):
        for bad in ("", [], ["x", ""], [[]]):
            with self.subTest(input=bad), self.assertRaises(openai.BadRequestError) as caught:
                client.embeddings.create(model="novels", input=bad)
            self.assertTrue(caught.exception.param.startswith("input"))
        with self.assertRaises(openai.NotFoundError):
            client.embeddings.create(model="no-such-model", input="x")


class Encoder(unittest.TestCase):
    """A model of sentence-transformers with the prompts query and document."""

    @classmethod
    def setUpClass(cls):
        cls.client = cls.enterClassContext(Server("--checkpoints", ENCODERS)).client()

    def embed(self, texts, **extra):
        answer = self.client.embeddings.create(model="bert", input=texts, **extra)
        return [numpy.asarray(d.embedding, "<f4") for d in answer.data], answer.usage.prompt_tokens

    def test_dimensions_are_cut_and_normalised_again(self):
        [whole], _ = self.embed("the red hen")
        [cut], _ = self.embed("the red hen", dimensions=8)
        self.assertEqual((len(whole), len(cut)), (32, 8))
        numpy.testing.assert_allclose(cut, whole[:8] / numpy.linalg.norm(whole[:8]), atol=1e-6)

    def test_what_the_vectors_are_for(self):
        [query], tokens = self.embed("the red hen", extra_body={"prompt_name": "query"})
        [plain], fewer = self.embed("the red hen")
        self.assertGreater(tokens, fewer)
        for name, words, want in (
                ("input_type", ("query", "search_query"), query), ("task", ("retrieval.query",), query),
                ("input_type", ("passage", "document", "search_document", "classification"), plain)):
            for word in words:
                [got], _ = self.embed("the red hen", extra_body={name: word})
                numpy.testing.assert_array_equal(got, want, word)

    def test_long_texts_are_refused_or_cut(self):
        long = "the red hen " * 20
        with self.assertRaises(openai.BadRequestError) as caught:
            self.embed(["a cat", long])
        self.assertIn("maximum context length is 24 tokens. However, your input[1] resulted in at least 25 tokens", str(caught.exception))
        self.assertEqual(caught.exception.param, "input[1]")
        for cut in (True, "END"):
            _, tokens = self.embed([long], extra_body={"truncate": cut})
            self.assertEqual(tokens, 24)

    def test_token_ids(self):
        ids = server_tokens(self.client, "the red hen")
        [want], tokens = self.embed("the red hen")
        [[got, other], used] = self.embed([ids, ids])
        self.assertEqual(used, 2 * tokens)
        numpy.testing.assert_array_equal(got, want)
        numpy.testing.assert_array_equal(other, want)

    def test_a_batch_is_its_texts_to_the_bit(self):
        texts = ["a cat", "the red hen", "hens", "the cat the hen the cat"] * 512
        together, _ = self.embed(texts)
        for text, vector in list(zip(texts, together))[-4:]:
            [alone], _ = self.embed(text)
            self.assertEqual(alone.tobytes(), vector.tobytes())

    def test_refused(self):
        for param, given in (
                ("dimensions", {"dimensions": 33}), ("prompt_name", {"extra_body": {"prompt_name": "ask"}}),
                ("input_type", {"extra_body": {"input_type": "cook"}}), ("truncate", {"extra_body": {"truncate": "START"}})):
            with self.subTest(param=param), self.assertRaises(openai.BadRequestError) as caught:
                self.embed("x", **given)
            self.assertEqual(caught.exception.param, param)
        for texts in (["x"] * 2049, [[10**6]], "x " * 5_000_000):
            with self.assertRaises(openai.APIStatusError) as caught:
                self.embed(texts)
            self.assertIn(caught.exception.status_code, (400, 413))


def server_tokens(client, text):
    """The ids of a text with the tokens that the tokenizer puts around it."""
    root = client.base_url.copy_with(raw_path=b"/tokenize")
    return client.post(str(root), cast_to=object, body={"model": "bert", "prompt": text})["tokens"]


class EmbeddingTypes(unittest.TestCase):
    """Sparse embeddings and vectors of tokens, by extra_body, equal the original implementations'."""

    @classmethod
    def setUpClass(cls):
        cls.client = cls.enterClassContext(Server("--checkpoints", VECTORS)).client()

    def create(self, model, case, **extra):
        body = {"type": case["type"], "truncate": True, **({"input_type": case["task"]} if "task" in case else {}), **extra.pop("extra_body", {})}
        return self.client.embeddings.create(model=model, input=case["texts"], extra_body=body, **extra)

    def cases(self, model, kind):
        return [c for c in json.loads((VECTORS / model / "golden.json").read_text()) if c["type"] == kind]

    def test_sparse(self):
        for model in ("splade-bert", "bge-m3"):
            for case in self.cases(model, "sparse"):
                answer = self.create(model, case, extra_body={"return_tokens": True})
                for data, ids, values in zip(answer.data, case["indices"], case["vectors"], strict=True):
                    self.assertEqual(data.embedding["indices"], ids)
                    self.assertEqual(len(data.tokens), len(ids))
                    numpy.testing.assert_allclose(data.embedding["values"], numpy.frombuffer(base64.b64decode(values), "<f4"), atol=1e-5)

    def test_vectors_of_tokens(self):
        for model in ("pylate", "stanford", "bge-m3"):
            for case in self.cases(model, "multi_vector"):
                packed, plain = self.create(model, case), self.create(model, case, encoding_format="float")
                for a, b, values in zip(packed.data, plain.data, case["vectors"], strict=True):
                    want = numpy.frombuffer(base64.b64decode(values), "<f4").reshape(-1, case["width"])
                    self.assertEqual(a.shape, list(want.shape))
                    numpy.testing.assert_allclose(numpy.reshape(a.embedding, a.shape), want, atol=1e-5)
                    numpy.testing.assert_allclose(b.embedding, want, atol=1e-5)

    def test_types_of_a_model(self):
        types = {m.id: m.embedding_types for m in self.client.models.list() if m.id in ("bge-m3", "pylate", "splade-bert")}
        self.assertEqual(types, {"bge-m3": ["dense", "sparse", "multi_vector"], "pylate": ["multi_vector"], "splade-bert": ["sparse"]})
        for model, kind, param in (("pylate", "sparse", "type"), ("splade-bert", "dense", "type"), ("bge-m3", "other", "type")):
            with self.assertRaises(openai.BadRequestError) as caught:
                self.client.embeddings.create(model=model, input="x", extra_body={"type": kind})
            self.assertEqual(caught.exception.param, param)
