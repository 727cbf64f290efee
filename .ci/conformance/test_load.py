"""One generation at a time: requests that wait, are rejected, or are cancelled."""

import concurrent.futures
import threading
import unittest

import openai

from server import Server, ask

CALLERS = 40
LONG = {"temperature": 1, "max_tokens": 200, "n": 8}


def setUpModule():
    global server
    server = unittest.enterModuleContext(Server("--workers", "1"))


class Load(unittest.TestCase):
    def test_overload_is_429(self):
        client, start = server.client(), threading.Barrier(CALLERS)

        def call(_):
            start.wait()
            try:
                return ask(client, "The castle", **LONG)
            except openai.RateLimitError as error:
                return error

        with concurrent.futures.ThreadPoolExecutor(CALLERS) as pool:
            results = list(pool.map(call, range(CALLERS)))
        refused = [r for r in results if isinstance(r, openai.RateLimitError)]
        self.assertTrue(refused, "no request of %d was refused" % CALLERS)
        self.assertGreater(len(results) - len(refused), 1, "nobody waited in the queue")
        for error in refused:
            self.assertGreaterEqual(int(error.response.headers["retry-after"]), 1)
            self.assertTrue(error.message)

    def test_all_are_served_who_retry(self):
        """The SDK waits for Retry-After; every request succeeds in the end."""
        client, start = server.client(max_retries=50), threading.Barrier(CALLERS)

        def call(_):
            start.wait()
            return client.chat.completions.with_raw_response.create(
                model="novels", messages=[{"role": "user", "content": "The castle"}], max_tokens=100, n=4, temperature=1)

        with concurrent.futures.ThreadPoolExecutor(CALLERS) as pool:
            results = list(pool.map(call, range(CALLERS)))
        self.assertTrue(any(r.retries_taken for r in results), "nobody had to retry")
        for r in results:
            self.assertEqual(r.parse().usage.completion_tokens, 400)

    def test_leaving_frees_the_place(self):
        client = server.client()
        for _ in range(20):
            chunks = client.chat.completions.create(
                model="novels", messages=[{"role": "user", "content": "The castle"}], stream=True, n=8)
            next(chunks)
            chunks.close()
        self.assertEqual(ask(server.client(max_retries=5), "The castle", max_tokens=5).usage.completion_tokens, 5)
