"""The Messages API through Anthropic's SDK and LangChain."""

import json
import unittest

import anthropic
import openai
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from pydantic import BaseModel

from server import Server, prompt_tokens

MODEL = "tools"
WEATHER = {
    "name": "get_weather", "description": "Get the weather in a city.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False},
}
GREEDY = {"extra_body": {"temperature": 0}}


def setUpModule():
    global server
    server = unittest.enterModuleContext(Server())


def user(text):
    return [{"role": "user", "content": text}]


class SDK(unittest.TestCase):
    def setUp(self):
        self.client = anthropic.Anthropic(base_url=server.url, api_key="not-needed", max_retries=0)

    def test_create(self):
        answer = self.client.messages.create(model="novels", max_tokens=8, messages=user("The old lighthouse"), **GREEDY)
        chat = openai.OpenAI(base_url=server.url + "/v1", api_key="not-needed").chat.completions.create(
            model="novels", max_tokens=8, messages=user("The old lighthouse"), temperature=0)
        self.assertEqual([b.text for b in answer.content], [chat.choices[0].message.content])
        self.assertEqual((answer.stop_reason, answer.stop_sequence, answer.role), ("max_tokens", None, "assistant"))
        self.assertEqual((prompt_tokens(answer.usage), answer.usage.output_tokens), (chat.usage.prompt_tokens, chat.usage.completion_tokens))
        counted = self.client.messages.count_tokens(model="novels", messages=user("The old lighthouse"))
        self.assertEqual(counted.input_tokens, prompt_tokens(answer.usage))

    def test_a_call_its_result_and_an_answer(self):
        messages = user("What is the weather in Oslo?")
        sent = {"model": MODEL, "max_tokens": 200, "tools": [WEATHER], **GREEDY}
        first = self.client.messages.create(messages=messages, **sent)
        [call] = first.content
        self.assertEqual((call.type, call.name, call.input, first.stop_reason), ("tool_use", "get_weather", {"city": "Oslo"}, "tool_use"))
        self.assertEqual(self.client.messages.count_tokens(model=MODEL, messages=messages, tools=[WEATHER]).input_tokens, prompt_tokens(first.usage))
        result = {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": "sunny, 4 degrees"}]}
        messages += [{"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
        last = self.client.messages.create(messages=messages, **sent)
        self.assertIn("sunny, 4 degrees", last.content[0].text)
        self.assertEqual(last.stop_reason, "end_turn")

    def test_tool_runner(self):
        @anthropic.beta_tool
        def get_weather(city: str) -> str:
            """Get the weather in a city.

            Args:
                city: the city
            """
            return f"sunny, {len(city)} degrees"

        runner = self.client.beta.messages.tool_runner(
            model=MODEL, max_tokens=200, tools=[get_weather], messages=user("What is the weather in Oslo?"), **GREEDY)
        messages = list(runner)
        self.assertEqual([m.stop_reason for m in messages], ["tool_use", "end_turn"])
        self.assertIn("sunny, 4 degrees", messages[-1].content[0].text)

    def test_stream(self):
        sent = {"model": MODEL, "max_tokens": 200, "tools": [WEATHER], "messages": user("What is the weather in Oslo?"), **GREEDY}
        pieces = ""
        with self.client.messages.stream(**sent) as stream:
            for event in stream:
                pieces += event.partial_json if event.type == "input_json" else ""
            final = stream.get_final_message()
        whole = self.client.messages.create(**sent)
        self.assertEqual(json.loads(pieces), whole.content[0].input)
        self.assertEqual(final.content[0].input, whole.content[0].input)
        self.assertEqual((final.stop_reason, prompt_tokens(final.usage), final.usage.output_tokens),
                         (whole.stop_reason, prompt_tokens(whole.usage), whole.usage.output_tokens))
        with self.client.messages.stream(model="novels", max_tokens=30, messages=user("The old lighthouse"), stop_sequences=["far"], **GREEDY) as stream:
            text = "".join(stream.text_stream)
            final = stream.get_final_message()
        self.assertEqual((final.content[0].text, final.stop_reason, final.stop_sequence), (text, "stop_sequence", "far"))

    def test_the_answer_continues_the_last_message(self):
        whole = self.client.messages.create(model="novels", max_tokens=12, messages=user("The old lighthouse"), **GREEDY).content[0].text
        words = whole.split(" ")
        begun = " ".join(words[:3])
        rest = self.client.messages.create(
            model="novels", max_tokens=8, messages=user("The old lighthouse") + [{"role": "assistant", "content": begun}], **GREEDY)
        self.assertEqual(len(rest.content), 1)
        self.assertTrue(rest.content[0].text)

    def test_arguments_are_whole_at_every_limit(self):
        for limit in range(12, 40, 3):
            answer = self.client.messages.create(
                model=MODEL, max_tokens=limit, tools=[WEATHER], tool_choice={"type": "any"}, messages=user("What is the weather in Oslo?"), **GREEDY)
            [call] = answer.content
            self.assertEqual(list(call.input), ["city"], limit)

    def test_errors(self):
        sent = {"model": "novels", "max_tokens": 4, "messages": user("a")}
        for change, kind, text in (
            ({"model": "nowhere"}, anthropic.NotFoundError, "model: nowhere"),
            ({"max_tokens": 0}, anthropic.BadRequestError, "max_tokens: must be at least 1"),
            ({"messages": user("lighthouse " * 400)}, anthropic.BadRequestError, "prompt is too long: "),
            ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, anthropic.BadRequestError, "tools[0].type: "),
        ):
            with self.assertRaises(kind) as caught:
                self.client.messages.create(**{**sent, **change})
            self.assertIn(text, caught.exception.body["error"]["message"])
            self.assertTrue(caught.exception.request_id)

    def test_thinking(self):
        sent = {"model": "novels", "max_tokens": 4, "messages": user("The old lighthouse"), **GREEDY}
        plain = self.client.messages.create(**sent).content[0].text
        for thinking in ({"type": "disabled"}, {"type": "adaptive"}):
            self.assertEqual(self.client.messages.create(**sent, thinking=thinking).content[0].text, plain)
        with self.assertRaises(anthropic.BadRequestError) as caught:
            self.client.messages.create(**sent, thinking={"type": "enabled", "budget_tokens": 2})
        self.assertIn("thinking", caught.exception.body["error"]["message"])
        said = [{"type": "thinking", "thinking": "Hm.", "signature": "unsigned"}, {"type": "redacted_thinking", "data": "AAA="}, {"type": "text", "text": "stood"}]
        messages = user("The old lighthouse") + [{"role": "assistant", "content": said}] + user("far")
        self.assertEqual(self.client.messages.create(**{**sent, "messages": messages}).usage.output_tokens, 4)

    def test_models(self):
        models = list(self.client.models.list())
        self.assertIn("novels", [m.id for m in models])
        self.assertEqual(list(self.client.models.list(limit=2)), models)
        self.assertEqual(self.client.models.retrieve("novels").max_input_tokens, 256)
        self.assertEqual(openai.OpenAI(base_url=server.url + "/v1", api_key="x").models.retrieve("novels").object, "model")


class LangChain(unittest.TestCase):
    def setUp(self):
        self.model = ChatAnthropic(model=MODEL, base_url=server.url, api_key="not-needed", max_tokens=200, temperature=0, max_retries=0)

    def test_tools(self):
        @tool
        def get_weather(city: str) -> str:
            """Get the weather in a city."""
            return f"rain in {city}"

        model = self.model.bind_tools([get_weather])
        first = model.invoke("What is the weather in London?")
        [call] = first.tool_calls
        self.assertEqual((call["name"], call["args"]), ("get_weather", {"city": "London"}))
        last = model.invoke([HumanMessage("What is the weather in London?"), first, ToolMessage("rain in London", tool_call_id=call["id"])])
        self.assertIn("rain in London", last.text)
        chunks = list(model.stream("What is the weather in London?"))
        whole = chunks[0]
        for chunk in chunks[1:]:
            whole += chunk
        self.assertEqual([c["args"] for c in whole.tool_calls], [{"city": "London"}])
        self.assertEqual(whole.usage_metadata["output_tokens"], first.usage_metadata["output_tokens"])
        self.assertEqual(whole.usage_metadata["input_tokens"], first.usage_metadata["input_tokens"])

    def test_structured_output(self):
        class Weather(BaseModel):
            """Get the weather in a city."""
            city: str

        made = self.model.with_structured_output(Weather).invoke("What is the weather in Paris?")
        self.assertEqual(made.city, "Paris")


if __name__ == "__main__":
    unittest.main()
