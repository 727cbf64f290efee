"""Roles, and a checkpoint that comes in over HTTP and is served."""

import gzip
import json
import tempfile
import unittest

import openai

import golden
from server import Server, ask, stream

CLIENT, WORKER = "client-key-of-the-tests", "upload-secret-of-the-tests"
GREEDY = {"temperature": 0, "max_tokens": 3}


def setUpModule():
    global server, root
    root = unittest.enterModuleContext(tempfile.TemporaryDirectory())
    server = unittest.enterModuleContext(Server("--auth", "--checkpoints", root, env={
        "GLOSSA_KEYS": f"client:{CLIENT}", "UPLOAD_SECRET": WORKER}))


def upload(body, key=WORKER, packed=False):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    if packed:
        data, headers["Content-Encoding"] = gzip.compress(data), "gzip"
    status, _, answer = server.raw("POST", "/api/upload", data, headers)
    return status, json.loads(answer)


class Keys(unittest.TestCase):
    def test_no_key(self):
        status, head, answer = server.raw("POST", "/v1/chat/completions", b"{}")
        self.assertEqual(status, 401)
        self.assertTrue(json.loads(answer)["error"]["message"])
        self.assertEqual(head["Access-Control-Allow-Origin"], "*")

    def test_wrong_key(self):
        for call in (lambda c: ask(c, "The castle"), lambda c: stream(c, "The castle"), lambda c: c.models.list()):
            with self.assertRaises(openai.AuthenticationError):
                call(server.client(api_key="not-needed"))

    def test_right_keys(self):
        for key in (CLIENT, WORKER):
            answer = ask(server.client(api_key=key), "The castle", max_tokens=4)
            self.assertEqual(answer.usage.completion_tokens, 4)

    def test_only_a_worker_uploads(self):
        for key, want in ((None, 401), ("wrong", 401), (CLIENT, 403)):
            status, answer = upload(golden.upload("forbidden"), key)
            self.assertEqual(status, want, answer)
        ids = [m.id for m in server.client(api_key=CLIENT).models.list().data]
        self.assertNotIn("forbidden", ids)


class Upload(unittest.TestCase):
    def setUp(self):
        self.client = server.client(api_key=CLIENT)

    def served(self, name):
        for how in (ask, stream):
            answer = how(self.client, "a", name, **GREEDY)
            self.assertEqual((answer.text, answer.finish), (golden.GREEDY_OF_A, "length"))
            self.assertEqual((answer.usage.prompt_tokens, answer.usage.completion_tokens), (1, 3))

    def test_upload_and_chat(self):
        for name, packed in (("golden", False), ("golden-gzip", True)):
            with self.subTest(name):
                self.assertEqual(upload(golden.upload(name), packed=packed), (200, {"ok": True, "name": name, "step": 7}))
                self.assertIn(name, [m.id for m in self.client.models.list().data])
                self.served(name)

    def test_logprobs_of_the_golden_model(self):
        upload(golden.upload("golden-logprobs"))
        token = ask(self.client, "a", "golden-logprobs", temperature=0, max_tokens=1,
                    logprobs=True, top_logprobs=3).tokens[0][0]
        got = {t.token: t.logprob for t in token.top_logprobs}
        for text, want in zip(golden.VOCAB, golden.logprobs()):
            self.assertAlmostEqual(got[text], want, delta=1e-6)

    def test_a_failed_upload_leaves_the_old_model(self):
        self.assertEqual(upload(golden.upload("steady"))[0], 200)
        for change in ({"checkpoint": {}}, {"checkpoint": "text"}, {"step": None}, {"config": None}):
            status, answer = upload(golden.upload("steady", step=8) | change)
            self.assertEqual(status, 400, answer)
            self.assertTrue(answer["error"])
        lying = golden.upload("steady", step=9)
        lying["checkpoint"]["params"]["layer.0.attn.wq"]["data"].pop()
        status, answer = upload(lying)
        self.assertEqual(status, 400, answer)
        self.assertIn("layer.0.attn.wq", answer["error"])
        whole = json.dumps(golden.upload("steady", step=10)).encode()
        self.assertEqual(upload(whole[:len(whole) // 2])[0], 400)
        self.served("steady")

    def test_names_stay_under_the_root(self):
        for name in ("../evil", "/etc/evil", "a/../../evil", "..", "", "a\\..\\b", "nul\0"):
            with self.subTest(name=name):
                status, answer = upload(golden.upload(name))
                self.assertEqual(status, 400, answer)

    def test_alpha_lists_it(self):
        upload(golden.upload("golden-listed"))
        _, _, answer = server.raw("GET", "/api/models", headers={"Authorization": f"Bearer {CLIENT}"})
        model = next(m for m in json.loads(answer) if m["id"] == "golden-listed")
        self.assertEqual((model["step"], model["lastLoss"], model["domain"]), (7, 1.25, "letters"))
        self.assertEqual(model["modelConfig"], golden.config()["modelConfig"])
        self.assertEqual(model["trainConfig"], golden.config()["trainConfig"])
