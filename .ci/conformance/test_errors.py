"""Errors have OpenAI's shape and name the fault."""

import gzip
import json
import unittest

import openai

from server import Server, ask, stream


def setUpModule():
    global server, client
    server = unittest.enterModuleContext(Server())
    client = server.client()


class Refused(unittest.TestCase):
    def refused(self, param, how=ask, prompt="The castle", **params):
        with self.assertRaises(openai.BadRequestError) as caught:
            how(client, prompt, **params)
        error = caught.exception
        self.assertEqual(error.param, param, error.message)
        self.assertEqual(error.type, "invalid_request_error")
        self.assertTrue(error.message)
        self.assertTrue(error.request_id)
        return error

    def test_parameters(self):
        for param, value in (
                ("temperature", -0.1), ("temperature", 2.1), ("temperature", "hot"),
                ("top_p", 1.5), ("top_p", -1), ("n", 0), ("n", 10**9), ("n", 1.5),
                ("max_tokens", -1), ("max_tokens", "many"), ("max_completion_tokens", -5),
                ("stop", ["a", "b", "c", "d", "e"]), ("stop", 7),
                ("presence_penalty", 2.5), ("frequency_penalty", -2.5),
                ("logit_bias", {"1": 101}), ("logit_bias", {"one": 1}), ("logit_bias", {"99999999": 1}),
                ("seed", "tomorrow"), ("stream_options", {"include_usage": True})):
            with self.subTest(param=param, value=value):
                self.refused(param, **{param: value})

    def test_top_logprobs(self):
        self.refused("top_logprobs", logprobs=True, top_logprobs=21)
        self.refused("top_logprobs", top_logprobs=2)  # without logprobs

    def test_refused_the_same_in_a_stream(self):
        self.refused("temperature", stream, temperature=9)

    def test_messages(self):
        self.refused("messages", prompt=[])
        for bad in ({"content": "no role"}, {"role": "wizard", "content": "x"},
                    {"role": "user", "content": 7}, {"role": "user", "content": [{"type": "image_url"}]}):
            with self.subTest(message=bad), self.assertRaises(openai.BadRequestError) as caught:
                ask(client, [bad])
            self.assertTrue(caught.exception.param.startswith("messages"), caught.exception)

    def test_unknown_parameter(self):
        self.refused("colour", extra_body={"colour": "blue"})

    def test_unknown_model(self):
        for how in (ask, stream):
            with self.assertRaises(openai.NotFoundError) as caught:
                how(client, "x", "no-such-model")
            self.assertEqual(caught.exception.code, "model_not_found")
            self.assertIn("no-such-model", caught.exception.message)
        with self.assertRaises(openai.NotFoundError) as caught:
            client.models.retrieve("no/such:model")
        self.assertEqual(caught.exception.code, "model_not_found")

    def test_too_long(self):
        for how in (ask, stream):
            error = self.refused("messages", how, "The castle stood. " * 2000)
            self.assertEqual(error.code, "context_length_exceeded")
            self.assertIn(str(server.config("novels")["blockSize"]), error.message)


class Bodies(unittest.TestCase):
    path = "/v1/chat/completions"

    def refused(self, want, body, method="POST", path=path, headers=None):
        """The error of a request that must be refused with the status want."""
        status, head, answer = server.raw(method, path, body, {"Origin": server.url, **(headers or {})})
        self.assertEqual(status, want, answer)
        self.assertEqual(head["Access-Control-Allow-Origin"], server.url)  # its own page can read it
        self.assertTrue(head["X-Request-Id"])
        return json.loads(answer)["error"]

    def check(self, want, body, headers=None):
        error = self.refused(want, body, headers=headers)
        self.assertEqual(set(error), {"message", "type", "param", "code"})
        self.assertTrue(error["message"])

    def test_malformed(self):
        for body in (b"", b"{", b"[]", b"null", b'"text"', b"{} {}", b'{"messages": 1e999}',
                     b'{"model": "novels", "messages": [{"role": "user", "content": "\xff\xfe"}]}',
                     b"[" * 100_000):
            with self.subTest(body=body[:40]):
                self.check(400, body)

    def test_too_large(self):
        big = b'{"messages": [{"role": "user", "content": "' + b"x" * (11 << 20) + b'"}]}'
        self.check(413, gzip.compress(big), headers={"Content-Encoding": "gzip"})

    def test_broken_gzip(self):
        self.check(400, b"no gzip", headers={"Content-Encoding": "gzip"})

    def test_routes(self):
        self.assertTrue(self.refused(405, None, "GET"))
        self.assertTrue(self.refused(404, None, "GET", "/v1/nothing"))

    def test_gzip_without_content_type(self):
        body = json.dumps({"model": "novels", "messages": [{"role": "user", "content": "The castle"}],
                           "max_tokens": 9, "temperature": 0}).encode()
        status, _, answer = server.raw("POST", self.path, gzip.compress(body), {"Content-Encoding": "gzip"})
        self.assertEqual(status, 200, answer)
        got = json.loads(answer)["choices"][0]["message"]["content"]
        self.assertEqual(got, ask(client, "The castle", max_tokens=9, temperature=0).text)

    def test_options(self):
        status, head, body = server.raw("OPTIONS", "/any/path", headers={"Origin": server.url})
        self.assertEqual((status, body, head["Access-Control-Allow-Origin"]), (204, b"", server.url))

    def test_pages_of_others(self):
        for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Host": "evil.example"},
                        {"Sec-Fetch-Site": "cross-site"}):
            for method in ("POST", "OPTIONS"):
                with self.subTest(method=method, headers=headers):
                    status, head, answer = server.raw(method, self.path, b"{}", {"Content-Type": "text/plain", **headers})
                    self.assertEqual((status, head["Access-Control-Allow-Origin"]), (403, None))
                    self.assertTrue(json.loads(answer)["error"])
