"""Files and batches through OpenAI's SDK, with a server that is killed."""

import json
import tempfile
import time
import unittest

import openai

from server import Server

ENDPOINT = "/v1/completions"


def lines(n):
    for i in range(n):
        yield {"custom_id": f"line-{i}", "method": "POST", "url": ENDPOINT,
               "body": {"model": "novels", "prompt": f"The lighthouse {i}", "max_tokens": 16, "temperature": 0}}


class Batches(unittest.TestCase):
    def setUp(self):
        self.directory = self.enterContext(tempfile.TemporaryDirectory())

    def server(self):
        return Server("--batches", self.directory)

    def client(self, server):
        return openai.OpenAI(base_url=server.url + "/v1", api_key="not-needed", max_retries=0)

    def upload(self, client, requests):
        text = "\n".join(json.dumps(r) for r in requests)
        return client.files.create(file=("requests.jsonl", text.encode()), purpose="batch")

    def ended(self, client, batch):
        deadline = time.monotonic() + 120
        while batch.status not in ("completed", "failed", "cancelled", "expired"):
            self.assertLess(time.monotonic(), deadline, batch)
            time.sleep(0.05)
            batch = client.batches.retrieve(batch.id)
        return batch

    def answers(self, client, file):
        return [json.loads(line) for line in client.files.content(file).text.splitlines()]

    def test_a_batch(self):
        with self.server() as server:
            client = self.client(server)
            wrong = {"custom_id": "wrong", "method": "POST", "url": ENDPOINT, "body": {"model": "none", "prompt": "x"}}
            file = self.upload(client, [*lines(40), wrong])
            self.assertEqual(client.files.retrieve(file.id).bytes, file.bytes)
            batch = client.batches.create(input_file_id=file.id, endpoint=ENDPOINT, completion_window="24h", metadata={"run": "7"})
            batch = self.ended(client, batch)
            self.assertEqual((batch.status, batch.metadata, batch.request_counts.completed, batch.request_counts.failed), ("completed", {"run": "7"}, 40, 1))
            answers = self.answers(client, batch.output_file_id)
            self.assertEqual(sorted(a["custom_id"] for a in answers), sorted(r["custom_id"] for r in lines(40)))
            by_id = {a["custom_id"]: a["response"]["body"]["choices"][0]["text"] for a in answers}
            direct = client.completions.create(**list(lines(8))[7]["body"])
            self.assertEqual(by_id["line-7"], direct.choices[0].text)
            [error] = self.answers(client, batch.error_file_id)
            self.assertEqual((error["custom_id"], error["response"]["status_code"]), ("wrong", 404))
            self.assertEqual([b.id for b in client.batches.list()], [batch.id])
            self.assertEqual(len(client.files.list().data), 3)
            self.assertTrue(client.files.delete(file.id).deleted)
            with self.assertRaises(openai.NotFoundError):
                client.files.retrieve(file.id)

    def test_upload_in_parts(self):
        with self.server() as server:
            client = self.client(server)
            text = "\n".join(json.dumps(r) for r in lines(500)).encode()
            upload = client.uploads.upload_file_chunked(
                file=text, filename="requests.jsonl", bytes=len(text), mime_type="application/jsonl", purpose="batch", part_size=10_000)
            self.assertEqual((upload.status, upload.file.bytes), ("completed", len(text)))
            self.assertEqual(client.files.content(upload.file.id).content, text)
            other = client.uploads.create(bytes=10, filename="a", mime_type="application/jsonl", purpose="batch")
            client.uploads.parts.create(other.id, data=b"12345")
            self.assertEqual(client.uploads.cancel(other.id).status, "cancelled")
            batch = client.batches.create(input_file_id=upload.file.id, endpoint=ENDPOINT, completion_window="24h")
            self.assertEqual(self.ended(client, batch).request_counts.completed, 500)

    def test_cancel(self):
        with self.server() as server:
            client = self.client(server)
            batch = client.batches.create(input_file_id=self.upload(client, lines(5000)).id, endpoint=ENDPOINT, completion_window="24h")
            self.assertIn(client.batches.cancel(batch.id).status, ("cancelling", "cancelled"))
            self.assertEqual(self.ended(client, batch).status, "cancelled")

    def test_no_line_is_lost_by_a_kill(self):
        requests = list(lines(3000))
        with self.server() as server:
            client = self.client(server)
            batch = client.batches.create(input_file_id=self.upload(client, requests).id, endpoint=ENDPOINT, completion_window="24h")
            while client.batches.retrieve(batch.id).request_counts.completed < 200:
                time.sleep(0.01)
            server.kill()
        with self.server() as server:
            client = self.client(server)
            self.assertNotEqual(client.batches.retrieve(batch.id).status, "completed")
            batch = self.ended(client, batch)
            self.assertEqual((batch.status, batch.request_counts.completed), ("completed", len(requests)))
            answers = self.answers(client, batch.output_file_id)
            self.assertEqual(sorted(a["custom_id"] for a in answers), sorted(r["custom_id"] for r in requests))


if __name__ == "__main__":
    unittest.main()
