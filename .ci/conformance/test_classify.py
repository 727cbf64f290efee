"""Hugging Face's InferenceClient classifies texts, with the scores of transformers' pipeline."""

import json
import pathlib
import shutil
import tempfile
import unittest

from huggingface_hub import InferenceClient
from huggingface_hub.errors import HfHubHTTPError

from server import Server

MODEL = pathlib.Path(__file__).resolve().parents[2] / "pkg/engine/testdata/classifiers/bert"
GOLDEN = json.loads((MODEL / "golden.json").read_text())


def setUpModule():
    global server
    directory = unittest.enterModuleContext(tempfile.TemporaryDirectory())
    shutil.copytree(MODEL, pathlib.Path(directory) / "bert")
    server = unittest.enterModuleContext(Server("--checkpoints", directory))


class HuggingFace(unittest.TestCase):
    def check(self, found, key="scores", most=3):
        expected = sorted(zip(GOLDEN["texts"][0][key], GOLDEN["labels"]), reverse=True)[:most]
        self.assertEqual([f.label for f in found], [label for _, label in expected])
        for f, (score, _) in zip(found, expected, strict=True):
            self.assertAlmostEqual(f.score, score, delta=2e-5)

    def test_text_classification(self):
        text = GOLDEN["texts"][0]["text"]
        for url in server.url, server.url + "/predict":
            client = InferenceClient(model=url)
            self.check(client.text_classification(text))
            self.check(client.text_classification(text, top_k=1), most=1)
            self.check(client.text_classification(text, function_to_apply="none"), "logits")

    def test_errors(self):
        with self.assertRaises(HfHubHTTPError) as e:
            InferenceClient(model=server.url).text_classification("the hen " * 500)
        self.assertEqual(e.exception.response.status_code, 413)


if __name__ == "__main__":
    unittest.main()
