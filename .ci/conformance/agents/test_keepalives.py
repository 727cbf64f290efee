"""Streams with keep-alives before and between their events, read by the clients of Anthropic
and Ollama, and by litellm."""

import unittest

import anthropic
import ollama

from stall import TEXT, WORDS, chatted, stalling


def setUpModule():
    global server
    server = unittest.enterModuleContext(stalling())


class KeepAlives(unittest.TestCase):
    def test_anthropic(self):
        client = anthropic.Anthropic(base_url=server.url, api_key="not-needed", max_retries=0)
        with client.messages.stream(model="slow-chat", max_tokens=9, messages=chatted("x")) as stream:
            self.assertEqual("".join(stream.text_stream), TEXT)
            self.assertEqual(stream.get_final_message().stop_reason, "end_turn")
        raw = client.messages.with_raw_response.create(model="slow-chat", max_tokens=9, messages=chatted("x"), stream=True)
        self.assertGreater(raw.http_response.read().count(b"event: ping"), len(WORDS))

    def test_ollama(self):
        client = ollama.Client(host=server.url)
        lines = list(client.chat("slow-chat", chatted("x"), stream=True))
        self.assertEqual("".join(line.message.content for line in lines), TEXT)
        self.assertEqual([line.done for line in lines[-2:]], [False, True])

    def test_litellm(self):
        import os
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # no download at the import
        import litellm
        for model, base in (("openai/slow-chat", "/v1"), ("anthropic/slow-chat", ""), ("ollama_chat/slow-chat", "")):
            with self.subTest(model):
                pieces = litellm.completion(model=model, api_base=server.url + base, api_key="not-needed", messages=chatted("x"), stream=True)
                self.assertEqual("".join(p.choices[0].delta.content or "" for p in pieces if p.choices), TEXT)
