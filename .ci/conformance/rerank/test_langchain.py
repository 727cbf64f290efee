"""LangChain's CohereRerank compresses what a retriever returns, and its CohereEmbeddings embeds texts."""

import unittest

from langchain_cohere import CohereEmbeddings, CohereRerank
from langchain_core.documents import Document

from rerankers import DOCUMENTS, MODEL, MODELS, QUERY, RANKED
from server import ENCODERS, Server


def setUpModule():
    global server
    server = unittest.enterModuleContext(Server("--checkpoints", str(MODELS)))


class LangChain(unittest.TestCase):
    def setUp(self):
        self.reranker = CohereRerank(model=MODEL, cohere_api_key="not-needed", base_url=server.url, top_n=3)

    def test_documents(self):
        documents = [Document(page_content=text, metadata={"number": i}) for i, text in enumerate(DOCUMENTS)]
        best = self.reranker.compress_documents(documents, QUERY)
        self.assertEqual([d.metadata["number"] for d in best], [i for i, _ in RANKED[:3]])
        for document, (_, score) in zip(best, RANKED):
            self.assertAlmostEqual(document.metadata["relevance_score"], score, delta=1e-5)

    def test_texts(self):
        best = self.reranker.rerank(DOCUMENTS, QUERY, top_n=2)
        self.assertEqual([r["index"] for r in best], [i for i, _ in RANKED[:2]])

    def test_embeddings(self):
        with Server("--checkpoints", str(ENCODERS)) as encoders:
            embeddings = CohereEmbeddings(model="bert", cohere_api_key="not-needed", base_url=encoders.url)
            for kind, texts, got in (
                    ("document", ["the red hen", "a cat"], embeddings.embed_documents(["the red hen", "a cat"])),
                    ("query", ["the red hen"], [embeddings.embed_query("the red hen")])):
                _, answer = encoders.json("POST", "/v1/embeddings", {"model": "bert", "input": texts, "input_type": kind})
                for vector, data in zip(got, answer["data"], strict=True):
                    self.assertEqual(len(vector), 32)
                    for a, b in zip(vector, data["embedding"], strict=True):
                        self.assertAlmostEqual(a, b, delta=1e-6)


if __name__ == "__main__":
    unittest.main()
