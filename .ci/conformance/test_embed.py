"""Cohere's SDK of both versions of the API, and Hugging Face's InferenceClient, embed texts."""

import base64
import unittest

import cohere
import numpy
from huggingface_hub import InferenceClient
from huggingface_hub.errors import HfHubHTTPError

from server import ENCODERS, VECTORS, Server

TEXTS = ["the red hen", "a cat"]


def setUpModule():
    global server
    server = unittest.enterModuleContext(Server("--checkpoints", str(ENCODERS)))


def vectors(texts=TEXTS, **more):
    """The vectors of /v1/embeddings."""
    answer = server.client().embeddings.create(model="bert", input=texts, encoding_format="float", extra_body=more)
    return numpy.asarray([d.embedding for d in answer.data], "<f4")


class Cohere(unittest.TestCase):
    def setUp(self):
        self.v1 = cohere.Client(api_key="not-needed", base_url=server.url)
        self.v2 = cohere.ClientV2(api_key="not-needed", base_url=server.url)

    def test_version_1(self):
        answer = self.v1.embed(model="bert", texts=TEXTS, input_type="search_query")
        self.assertEqual((answer.response_type, answer.texts), ("embeddings_floats", TEXTS))
        numpy.testing.assert_allclose(answer.embeddings, vectors(input_type="query"), atol=1e-6)
        self.assertGreater(answer.meta.billed_units.input_tokens, 5)
        typed = self.v1.embed(model="bert", texts=TEXTS, input_type="search_query", embedding_types=["float", "int8"])
        self.assertEqual(typed.response_type, "embeddings_by_type")
        numpy.testing.assert_allclose(typed.embeddings.float_, answer.embeddings, atol=1e-6)

    def test_batches(self):
        texts = [f"hen {'cat ' * (i % 5)}" for i in range(200)]  # the SDK sends 96 at once
        answer = self.v1.embed(model="bert", texts=texts, input_type="search_document")
        numpy.testing.assert_allclose(answer.embeddings, vectors(texts), atol=1e-6)

    def test_version_2(self):
        answer = self.v2.embed(model="bert", texts=TEXTS, input_type="search_document", output_dimension=16,
                               embedding_types=["float", "int8", "uint8", "binary", "ubinary", "base64"])
        got, want = answer.embeddings, vectors(dimensions=16)
        numpy.testing.assert_allclose(got.float_, want, atol=1e-6)
        for text, vector in zip(got.base64, want, strict=True):
            numpy.testing.assert_allclose(numpy.frombuffer(base64.b64decode(text), "<f4"), vector, atol=1e-6)
        bits = numpy.packbits(want > 0, axis=1)
        numpy.testing.assert_array_equal(got.ubinary, bits)
        numpy.testing.assert_array_equal(got.binary, bits.astype(int) - 128)
        numpy.testing.assert_allclose(got.int8, want * 127 / abs(want).max(axis=1, keepdims=True), atol=0.51)
        numpy.testing.assert_array_equal(numpy.asarray(got.uint8) - 128, got.int8)
        self.assertEqual(answer.meta.api_version.version, "2")

    def test_inputs(self):
        inputs = [{"content": [{"type": "text", "text": text}]} for text in TEXTS]
        answer = self.v2.embed(model="bert", inputs=inputs, input_type="search_query")
        numpy.testing.assert_allclose(answer.embeddings.float_, vectors(input_type="query"), atol=1e-6)

    def test_long_texts(self):
        long = "the red hen " * 20
        [cut] = self.v2.embed(model="bert", texts=[long], input_type="search_document").embeddings.float_
        numpy.testing.assert_allclose([cut], vectors([long], truncate=True), atol=1e-6)
        with self.assertRaises(cohere.BadRequestError) as e:
            self.v2.embed(model="bert", texts=[long], input_type="search_document", truncate="NONE")
        self.assertIn("maximum context length is 24 tokens. However, your texts", e.exception.body["message"])

    def test_errors(self):
        for message, given in {
            "Invalid value for 'texts': at least one text is required": {"texts": []},
            "Invalid value for 'texts[1]': must not be empty": {"texts": ["a", ""]},
            "Invalid value for 'input_type'": {"texts": TEXTS, "input_type": "cook"},
            "Invalid value for 'output_dimension'": {"texts": TEXTS, "output_dimension": 33},
            "Invalid value for 'truncate': must be END or NONE": {"texts": TEXTS, "truncate": "START"},
            "Unsupported parameter 'images'": {"images": ["data:image/png;base64,"]},
        }.items():
            with self.subTest(message), self.assertRaises(cohere.BadRequestError) as e:
                self.v2.embed(**{"model": "bert", "input_type": "search_query"} | given)
            self.assertIn(message, e.exception.body["message"])
            self.assertEqual(e.exception.body["id"], e.exception.headers["x-request-id"])
        with self.assertRaises(cohere.NotFoundError):
            self.v2.embed(model="none", texts=TEXTS, input_type="search_query")


class HuggingFace(unittest.TestCase):
    """The client cannot name a model: the first embedder in the list answers."""

    def test_feature_extraction(self):
        first = next(m.id for m in server.client().models.list() if m.model_extra.get("task") == "embed")
        client = InferenceClient(model=server.url + "/embed")
        want = server.client().embeddings.create(model=first, input=TEXTS, encoding_format="float").data
        for text, data in zip(TEXTS, want, strict=True):
            numpy.testing.assert_allclose(client.feature_extraction(text, normalize=True, truncate=True), [data.embedding], atol=1e-6)
        numpy.testing.assert_array_equal(InferenceClient(model=server.url).feature_extraction("a hen"), client.feature_extraction("a hen"))
        status, tokens = server.json("POST", "/embed_all", {"model": "bert", "inputs": TEXTS})
        self.assertEqual((status, len(tokens)), (200, len(TEXTS)))
        self.assertEqual({len(vector) for text in tokens for vector in text}, {len(vectors()[0])})
        with self.assertRaises(HfHubHTTPError) as e:
            client.feature_extraction("a", truncation_direction="left")
        self.assertEqual(e.exception.response.status_code, 422)

    def test_similarity(self):
        source, others = "a hen", ["the red hen", "a cat", "a hen"]
        got = InferenceClient(model=server.url).sentence_similarity(source, other_sentences=others)
        first = InferenceClient(model=server.url).feature_extraction([source, *others])
        numpy.testing.assert_allclose(got, (first[0] @ first.T)[1:], atol=1e-6)
        status, same = server.json("POST", "/similarity", {"inputs": {"source_sentence": source, "sentences": others}})
        self.assertEqual((status, same), (200, got))

    def test_tokens(self):
        status, [tokens] = server.json("POST", "/tokenize", {"model": "bert", "inputs": "The RED hen"})
        self.assertEqual((status, [t["text"] for t in tokens]), (200, ["[CLS]", "The", "RED", "hen", "[SEP]"]))
        self.assertEqual([(t["special"], t["start"], t["stop"]) for t in tokens], [(True, None, None), (False, 0, 3), (False, 4, 7), (False, 8, 11), (True, None, None)])
        self.assertEqual(server.json("POST", "/decode", {"model": "bert", "ids": [[t["id"] for t in tokens]]}), (200, ["the red hen"]))
        self.assertEqual(server.json("GET", "/info?model=bert")[1]["model_type"], {"embedding": {}})

    def test_sparse(self):
        with Server("--checkpoints", str(VECTORS)) as sparse:
            answer = sparse.json("POST", "/embed_sparse", {"model": "splade-bert", "inputs": "the red hen"})
            want = sparse.client().embeddings.create(model="splade-bert", input="the red hen", encoding_format="float", extra_body={"type": "sparse"})
            weights = want.data[0].embedding
            self.assertEqual(answer, (200, [[{"index": i, "value": v} for i, v in zip(weights["indices"], weights["values"], strict=True)]]))


if __name__ == "__main__":
    unittest.main()
