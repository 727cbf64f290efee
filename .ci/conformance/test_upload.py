"""Roles, and a checkpoint that is uploaded over HTTP and served."""

import gzip
import hashlib
import json
import random
import subprocess
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
        status, head, answer = server.raw("POST", "/v1/chat/completions", b"{}", {"Origin": server.url})
        self.assertEqual(status, 401)
        self.assertTrue(json.loads(answer)["error"]["message"])
        self.assertEqual(head["Access-Control-Allow-Origin"], server.url)

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


def call(method, path, data=b"", headers=None, key=WORKER):
    """Sends a request; returns the status and the object that answers it."""
    if not isinstance(data, bytes):
        data = json.dumps(data).encode()
    status, _, answer = server.raw(method, path, data, {"Authorization": f"Bearer {key}"} | (headers or {}))
    return status, json.loads(answer)


def begin(name, file, **more):
    given = {"name": name, "step": 7, "size": len(file), "config": golden.config(),
             "metrics": golden.upload(name).get("metrics", "")} | more
    status, answer = call("POST", "/api/uploads", given)
    assert status == 200, answer
    return answer


class Parts(unittest.TestCase):
    """Uploads that are too large for one request."""

    def setUp(self):
        self.client = server.client(api_key=CLIENT)
        self.file = json.dumps(golden.upload("x")["checkpoint"]).encode()

    def served(self, name):
        answer = ask(self.client, "a", name, **GREEDY)
        self.assertEqual((answer.text, answer.finish), (golden.GREEDY_OF_A, "length"))

    def put(self, upload, part, file=None, key=WORKER):
        piece = (file or self.file)[part["offset"]:part["offset"] + part["size"]]
        return call("PUT", f"/api/uploads/{upload['id']}/parts/{part['index']}", piece,
                    {"Content-Type": "application/octet-stream"}, key)

    def test_a_cut_upload_goes_on(self):
        upload = begin("parts", self.file, partSize=700, sha256=hashlib.sha256(self.file).hexdigest())
        random.shuffle(upload["parts"])
        for part in upload["parts"][1:] + upload["parts"][1:2]:  # one of them twice
            self.assertEqual(self.put(upload, part), (200, {"ok": True, "part": part["index"]}))
        path = f"/api/uploads/{upload['id']}"
        status, answer = call("POST", path + "/complete")
        self.assertEqual(status, 400, answer)
        self.assertIn(f"missing: {upload['parts'][0]['index']}", answer["error"])
        _, now = call("GET", path)
        missing = [p for p in now["parts"] if not p["arrived"]]
        self.assertEqual([p["index"] for p in missing], [upload["parts"][0]["index"]])
        self.assertEqual(self.put(upload, missing[0])[0], 200)
        for _ in range(2):
            self.assertEqual(call("POST", path + "/complete"), (200, {"ok": True, "name": "parts", "step": 7}))
        self.served("parts")
        self.assertEqual(call("DELETE", path)[0], 200)
        self.assertEqual(call("GET", path)[0], 404)
        self.served("parts")

    def test_three_commands_of_curl(self):
        with tempfile.NamedTemporaryFile() as file, tempfile.NamedTemporaryFile("w+") as about:
            file.write(self.file)
            file.flush()
            json.dump({"name": "curl", "step": 7, "size": len(self.file), "config": golden.config()}, about)
            about.flush()

            def curl(*args):
                command = ["curl", "-sSf", "-H", f"Authorization: Bearer {WORKER}", *args]
                return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)

            upload = curl("-d", f"@{about.name}", server.url + "/api/uploads")
            curl("-T", file.name, f"{server.url}/api/uploads/{upload['id']}/parts/0")
            curl("-X", "POST", f"{server.url}/api/uploads/{upload['id']}/complete")
        self.served("curl")

    def test_what_is_refused(self):
        upload = begin("refused", self.file, sha256="0" * 64)
        short = dict(upload["parts"][0], size=5)
        self.assertEqual(self.put(upload, short)[0], 400)
        self.assertEqual(self.put(upload, dict(short, index=9))[0], 404)
        self.assertEqual(self.put(upload, upload["parts"][0], key=CLIENT)[0], 403)
        self.assertEqual(self.put(upload, upload["parts"][0])[0], 200)
        status, answer = call("POST", f"/api/uploads/{upload['id']}/complete")
        self.assertEqual((status, answer["error"][:7]), (400, "sha256:"))
        for name in ("../evil", "/etc/evil", "..", "", "nul", "a%2Fb"):
            with self.subTest(name=name):
                self.assertEqual(call("POST", "/api/uploads", {"name": name, "size": 5000})[0], 400)
        for one in ("..%2F..", "%2e%2e", upload["id"] + "%2F.."):
            with self.subTest(id=one):
                self.assertEqual(call("GET", f"/api/uploads/{one}")[0], 404)
        ids = [m.id for m in self.client.models.list().data]
        self.assertNotIn("refused", ids)

    def test_chunks(self):
        packed = gzip.compress(self.file)
        pieces = [packed[i:i + 500] for i in range(0, len(packed), 500)]
        about = {"uploadId": "run-1", "totalChunks": len(pieces), "name": "chunks", "step": 7, "config": golden.config()}
        for i in reversed(range(len(pieces))):
            head = {"X-Upload-Id": "run-1", "X-Chunk-Index": str(i), "X-Total-Chunks": str(len(pieces))}
            self.assertEqual(call("POST", "/api/upload/chunk", pieces[i], head)[0], 200)
            if i == 1:
                self.assertEqual(call("POST", "/api/upload/assemble", about)[0], 400)
        for _ in range(2):
            self.assertEqual(call("POST", "/api/upload/assemble", about), (200, {"ok": True, "name": "chunks", "step": 7}))
        self.served("chunks")
