"""Streams with keep-alives before and between their events, read by the clients of OpenAI and
of Aleph Alpha."""

import asyncio
import json
import unittest

import aleph_alpha_client as v11
from aleph_alpha_client.chat import ChatRequest, Message, Role

from stall import TEXT, WORDS, chatted, stalling


def setUpModule():
    global server
    server = unittest.enterModuleContext(stalling())


class KeepAlives(unittest.TestCase):
    def raw(self, path, body):
        status, _, answer = server.raw("POST", path, json.dumps(body | {"stream": True}).encode())
        self.assertEqual(status, 200, answer)
        return answer.decode()

    def test_they_are_sent(self):
        """What the other tests rely on: each stall has some, the first one too."""
        stream = self.raw("/v1/chat/completions", {"model": "slow-chat", "messages": chatted("x")})
        self.assertTrue(stream.startswith(": keep-alive\n\n"), stream)
        self.assertTrue(stream.endswith("data: [DONE]\n\n"), stream)
        kept = [part.count(": keep-alive\n\n") for part in stream.split("data: ")[:2 + len(WORDS)]]
        self.assertGreaterEqual(sum(n > 0 for n in kept), len(WORDS), stream)
        self.assertTrue(self.raw("/complete", {"model": "slow-text", "prompt": "x", "maximum_tokens": 9}).startswith("\n"))
        self.assertTrue(self.raw("/v1/engines/slow-text/completions", {"prompt": "x"}).startswith(" "))

    def test_openai(self):
        client = server.client()
        chunks = list(client.chat.completions.create(model="slow-chat", messages=chatted("x"), stream=True))
        self.assertEqual("".join(c.choices[0].delta.content or "" for c in chunks if c.choices), TEXT)
        chunks = list(client.completions.create(model="slow-text", prompt="x", stream=True))
        self.assertEqual("".join(c.choices[0].text for c in chunks if c.choices), TEXT)

    def test_responses(self):
        events = list(server.client().responses.create(model="slow-chat", input="x", stream=True))
        self.assertEqual("".join(e.delta for e in events if e.type == "response.output_text.delta"), TEXT)
        self.assertEqual(events[-1].type, "response.completed")

    def test_aleph_alpha(self):
        """Its client reads lines, and raises an error for one that is not of an event."""
        async def read():
            async with v11.AsyncClient(token="not-needed", host=server.url) as client:
                text = [getattr(e, "completion", "") async for e in client.complete_with_streaming(
                    v11.CompletionRequest(prompt=v11.Prompt.from_text("x"), maximum_tokens=9), model="slow-text")]
                chat = [getattr(e, "content", "") async for e in client.chat_with_streaming(
                    ChatRequest(messages=[Message(Role.User, "x")], model="slow-chat"), model="slow-chat")]
                return text, chat

        text, chat = asyncio.run(read())
        self.assertEqual("".join(t for t in text if isinstance(t, str)), TEXT)
        self.assertEqual("".join(t for t in chat if isinstance(t, str)), TEXT)

    def test_lines_of_json(self):
        """Each line of the API layer's stream, with what is before it, is JSON."""
        body = {"model_name": "slow-text", "model_family": "openai", "body": {"prompt": "x"}}
        _, _, answer = server.raw("POST", "/invoke_stream", json.dumps(body).encode())
        lines = answer.decode().splitlines()
        self.assertTrue(lines[0].startswith(" "), lines)
        self.assertEqual("".join(json.loads(line).get("generated_text") or "" for line in lines), TEXT)
