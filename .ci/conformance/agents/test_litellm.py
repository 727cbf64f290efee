"""litellm as a client, by the providers whose protocols glossa speaks."""

import json
import os
import unittest

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # no download at the import

import litellm

from server import Server

litellm.telemetry = False
WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "The weather in a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}}}


class LiteLLM(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(Server())
        cls.providers = {
            "openai": {"model": "openai/{}", "api_base": cls.server.url + "/v1"},
            "anthropic": {"model": "anthropic/{}", "api_base": cls.server.url},
            "ollama_chat": {"model": "ollama_chat/{}", "api_base": cls.server.url},
        }

    def options(self, provider, model):
        own = dict(self.providers[provider])
        own["model"] = own["model"].format(model)
        return own | {"api_key": "not-needed", "num_retries": 0, "max_retries": 0, "temperature": 0}

    def test_one_answer_whole_and_streamed(self):
        ask = {"messages": [{"role": "user", "content": "The old lighthouse"}], "max_tokens": 12}
        answers = set()
        for provider in self.providers:
            with self.subTest(provider):
                whole = litellm.completion(**self.options(provider, "novels"), **ask)
                pieces = litellm.completion(**self.options(provider, "novels"), **ask, stream=True)
                text = "".join(p.choices[0].delta.content or "" for p in pieces if p.choices)
                self.assertEqual(text, whole.choices[0].message.content)
                answers.add((text, whole.usage.prompt_tokens, whole.usage.completion_tokens))
        self.assertEqual(len(answers), 1, answers)

    def test_a_call_its_result_and_an_answer(self):
        for provider in ("openai", "anthropic"):  # that of ollama_chat loses the calls of messages
            with self.subTest(provider):
                sent = self.options(provider, "tools") | {"tools": [WEATHER], "max_tokens": 100}
                messages = [{"role": "user", "content": "What is the weather in Oslo?"}]
                message = litellm.completion(**sent, messages=messages).choices[0].message
                [call] = message.tool_calls
                self.assertEqual((call.function.name, json.loads(call.function.arguments)), ("get_weather", {"city": "Oslo"}))
                messages += [message, {"role": "tool", "tool_call_id": call.id, "name": call.function.name, "content": "sunny, 4 degrees"}]
                self.assertIn("sunny, 4 degrees", litellm.completion(**sent, messages=messages).choices[0].message.content)

    def test_embeddings(self):
        answer = litellm.embedding(model="openai/sentences", api_base=self.server.url + "/v1", api_key="not-needed", input=["a bell", "a boat"])
        self.assertEqual(len(answer.data), 2)
        self.assertEqual(len(answer.data[0]["embedding"]), len(answer.data[1]["embedding"]))

    def test_rerank(self):
        answer = litellm.rerank(
            model="cohere/sentences", api_base=self.server.url + "/v2/rerank", api_key="not-needed", query="a boat", documents=["a bell", "a boat"], top_n=1)
        self.assertEqual([r["index"] for r in answer.results], [1])

    def test_responses(self):
        answer = litellm.responses(model="openai/novels", api_base=self.server.url + "/v1", api_key="not-needed", input="The old lighthouse", max_output_tokens=16)
        self.assertEqual((answer.status, answer.usage.output_tokens), ("incomplete", 16))

    def test_errors(self):
        with self.assertRaises(litellm.NotFoundError):
            litellm.completion(**self.options("openai", "none"), messages=[{"role": "user", "content": "a"}])


if __name__ == "__main__":
    unittest.main()
