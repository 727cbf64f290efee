"""Cohere's SDK of both versions of the API, and Aleph Alpha's client, rank documents."""

import unittest

import cohere
from aleph_alpha_client import Client, RerankRequest

from rerankers import DOCUMENTS, MODEL, MODELS, QUERY, RANKED
from server import Server


def setUpModule():
    global server
    server = unittest.enterModuleContext(Server("--checkpoints", str(MODELS)))


class Cohere(unittest.TestCase):
    def check(self, results, expected=RANKED):
        self.assertEqual([r.index for r in results], [i for i, _ in expected])
        for result, (_, score) in zip(results, expected, strict=True):
            self.assertAlmostEqual(result.relevance_score, score, delta=1e-5)

    def test_version_1(self):
        client = cohere.Client(api_key="not-needed", base_url=server.url)
        answer = client.rerank(model=MODEL, query=QUERY, documents=DOCUMENTS, return_documents=True)
        self.check(answer.results)
        self.assertEqual([r.document.text for r in answer.results], [DOCUMENTS[i] for i, _ in RANKED])
        self.assertEqual(answer.meta.billed_units.search_units, 1)
        objects = client.rerank(model=MODEL, query=QUERY, documents=[{"text": d} for d in DOCUMENTS], rank_fields=["text"], top_n=2)
        self.check(objects.results, RANKED[:2])

    def test_version_2(self):
        client = cohere.ClientV2(api_key="not-needed", base_url=server.url)
        answer = client.rerank(model=MODEL, query=QUERY, documents=DOCUMENTS, top_n=3, max_tokens_per_doc=500)
        self.check(answer.results, RANKED[:3])
        self.assertEqual(answer.meta.api_version.version, "2")
        self.assertGreater(answer.meta.tokens.input_tokens, 20)
        self.assertEqual(answer.meta.warnings, ["documents [3] were cut to the maximum length"])

    def test_a_cut_document_is_a_warning(self):
        client = cohere.ClientV2(api_key="not-needed", base_url=server.url)
        answer = client.rerank(model=MODEL, query=QUERY, documents=["a hen", "a hen " * 100])
        self.assertEqual(answer.meta.warnings, ["documents [1] were cut to the maximum length"])

    def test_errors(self):
        client = cohere.ClientV2(api_key="not-needed", base_url=server.url)
        with self.assertRaises(cohere.BadRequestError) as e:
            client.rerank(model=MODEL, query=QUERY, documents=[])
        self.assertEqual(e.exception.body["message"], "Invalid value for 'documents': at least one document is required")
        self.assertEqual(e.exception.body["id"], e.exception.headers["x-request-id"])
        with self.assertRaises(cohere.BadRequestError) as e:
            client.rerank(model="novels", query=QUERY, documents=DOCUMENTS)
        self.assertIn("has no reranker", e.exception.body["message"])
        for each in client, cohere.Client(api_key="not-needed", base_url=server.url):
            with self.assertRaises(cohere.NotFoundError) as e:
                each.rerank(model="none", query=QUERY, documents=DOCUMENTS)
            self.assertEqual(e.exception.body["message"], "The model 'none' does not exist")


class AlephAlpha(unittest.TestCase):
    def test_rerank(self):
        answer = Client(token="not-needed", host=server.url).rerank(RerankRequest(query=QUERY, documents=DOCUMENTS, top_n=2), model=MODEL)
        self.assertEqual([r.index for r in answer.results], [i for i, _ in RANKED[:2]])
        self.assertEqual(answer.usage.completion_tokens, 0)
        self.assertGreater(answer.usage.total_tokens, 20)


if __name__ == "__main__":
    unittest.main()
