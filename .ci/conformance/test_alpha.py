"""Alpha's own endpoints, over a model whose answers are known."""

import json
import tempfile
import unittest

import golden
from server import Server

SECRET = "upload-secret-of-the-tests"


def setUpModule():
    global server
    root = unittest.enterModuleContext(tempfile.TemporaryDirectory())
    server = unittest.enterModuleContext(Server("--checkpoints", root, env={"UPLOAD_SECRET": SECRET}))
    status, answer = server.json("POST", "/api/upload", golden.upload("golden"), {"Authorization": f"Bearer {SECRET}"})
    assert status == 200, answer


class Alpha(unittest.TestCase):
    def test_upload_wants_the_secret_on_an_open_server(self):
        self.assertEqual(server.json("POST", "/api/upload", golden.upload("other"))[0], 401)

    def test_inference(self):
        for path in ("/api/inference", "/inference"):
            status, head, body = server.raw("GET", path + "?query=a&model=golden&steps=3&temp=0")
            self.assertEqual((status, head["Content-Type"].split(";")[0]), (200, "text/event-stream"))
            events = [e.removeprefix("data: ") for e in body.decode().split("\n\n") if e]
            self.assertEqual(events[-1], "[DONE]")
            tokens = [json.loads(e)["token"] for e in events[:-1]]
            self.assertEqual(tokens, ["a", "\n", "a", "\n"])  # the prompt, then the tokens

    def test_generate(self):
        want = {"text": golden.GREEDY_OF_A, "model": "golden", "usage": {"prompt_tokens": 1, "completion_tokens": 3}}
        body = {"prompt": "a", "max_tokens": 3, "temperature": 0, "model": "golden"}
        self.assertEqual(server.json("POST", "/api/generate", body), (200, want))
        query = "?prompt=a&max_tokens=3&temperature=0&model=golden"
        self.assertEqual(server.json("GET", "/api/generate" + query), (200, want))

    def test_chat_is_plain_text(self):
        body = {"messages": [{"role": "user", "content": "a"}], "model": "golden", "maxTokens": 3, "temperature": 0}
        status, head, answer = server.raw("POST", "/api/chat", json.dumps(body).encode())
        self.assertEqual((status, head["Content-Type"]), (200, "text/plain; charset=utf-8"))
        self.assertEqual(answer.decode(), golden.GREEDY_OF_A)

    def test_unknown_model(self):
        for path in ("/api/generate?prompt=a&model=nope", "/api/inference?query=a&model=nope"):
            status, answer = server.json("GET", path)
            self.assertEqual(status, 400)
            self.assertIn("model", answer["error"])


class Operator(unittest.TestCase):
    def test_openapi_names_the_routes(self):
        status, document = server.json("GET", "/openapi.json")
        self.assertEqual(status, 200)
        for path in ("/v1/models", "/v1/chat/completions", "/chat/completions", "/api/models", "/api/upload"):
            self.assertIn(path, document["paths"])

    def test_metrics_count_tokens(self):
        server.json("GET", "/api/generate?prompt=a&max_tokens=3&temperature=0&model=golden")
        status, head, body = server.raw("GET", "/metrics")
        self.assertEqual((status, head["Content-Type"].split(";")[0]), (200, "text/plain"))
        lines = [line for line in body.decode().splitlines() if 'model="golden"' in line and "token" in line]
        self.assertTrue(any(float(line.rsplit(" ", 1)[1]) >= 3 for line in lines), lines)
