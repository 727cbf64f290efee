"""The Responses API through OpenAI's SDK, its Agents SDK in its default mode, and LangChain."""

import asyncio
import json
import unittest

import agents
import openai
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

from server import Server

MODEL = "tools"
WEATHER = {
    "type": "function", "name": "get_weather", "description": "Get the weather in a city.", "strict": True,
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False},
}


def setUpModule():
    global server
    server = unittest.enterModuleContext(Server())


def base():
    return {"base_url": server.url + "/v1", "api_key": "not-needed", "max_retries": 0}


class SDK(unittest.TestCase):
    def setUp(self):
        self.client = openai.OpenAI(**base())

    def test_create(self):
        sent = {"temperature": 0, "model": "novels"}
        answer = self.client.responses.create(input="The old lighthouse", max_output_tokens=8, **sent)
        chat = self.client.chat.completions.create(messages=[{"role": "user", "content": "The old lighthouse"}], max_tokens=8, **sent)
        self.assertEqual(answer.output_text, chat.choices[0].message.content)
        self.assertEqual((answer.status, answer.incomplete_details.reason), ("incomplete", "max_output_tokens"))
        self.assertEqual((answer.usage.input_tokens, answer.usage.output_tokens), (chat.usage.prompt_tokens, chat.usage.completion_tokens))
        counted = self.client.responses.input_tokens.count(input="The old lighthouse", model="novels")
        self.assertEqual(counted.input_tokens, answer.usage.input_tokens)

    def test_a_call_its_output_and_an_answer(self):
        items = [{"role": "user", "content": "What is the weather in Oslo?"}]
        sent = {"model": MODEL, "tools": [WEATHER], "temperature": 0}
        first = self.client.responses.create(input=items, **sent)
        [call] = first.output
        self.assertEqual((call.type, call.name, json.loads(call.arguments)), ("function_call", "get_weather", {"city": "Oslo"}))
        self.assertEqual(self.client.responses.input_tokens.count(input=items, model=MODEL, tools=[WEATHER]).input_tokens, first.usage.input_tokens)
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny, 4 degrees"}
        last = self.client.responses.create(input=items + first.output + [result], **sent)
        self.assertIn("sunny, 4 degrees", last.output_text)
        dumped = [i.model_dump() for i in first.output + last.output]
        again = self.client.responses.create(input=items + dumped[:1] + [result] + dumped[1:] + items, **sent)
        self.assertEqual([i.type for i in again.output], ["function_call"])

    def test_a_stored_conversation(self):
        sent = {"model": MODEL, "tools": [WEATHER], "temperature": 0}
        first = self.client.responses.create(input="What is the weather in Oslo?", instructions="Be brief.", **sent)
        [call] = first.output
        output = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny, 4 degrees"}
        last = self.client.responses.create(previous_response_id=first.id, input=[output], **sent)
        self.assertIn("sunny, 4 degrees", last.output_text)
        self.assertEqual((last.previous_response_id, last.instructions), (first.id, None))
        self.assertEqual(self.client.responses.retrieve(last.id), last)
        items = list(self.client.responses.input_items.list(last.id, limit=2, order="asc"))
        self.assertEqual([i.type for i in items], ["message", "function_call", "function_call_output"])
        self.assertEqual((items[0].content[0].text, items[1].id), ("What is the weather in Oslo?", call.id))
        again = self.client.responses.create(input=[i.model_dump() for i in items], **sent)
        self.assertEqual(again.output_text, last.output_text)
        with self.assertRaisesRegex(openai.BadRequestError, "Cannot cancel a response that has ended"):
            self.client.responses.cancel(last.id)
        self.client.responses.delete(first.id)
        for gone in (lambda: self.client.responses.retrieve(first.id), lambda: self.client.responses.delete(first.id)):
            with self.assertRaises(openai.NotFoundError):
                gone()
        with self.assertRaises(openai.BadRequestError) as raised:
            self.client.responses.create(previous_response_id=first.id, input="x", **sent)
        self.assertEqual((raised.exception.code, raised.exception.param), ("previous_response_not_found", "previous_response_id"))
        self.assertEqual(self.client.responses.retrieve(last.id), last)

    def test_stream(self):
        deltas = ""
        with self.client.responses.stream(model=MODEL, tools=[WEATHER], temperature=0, input="What is the weather in Oslo?") as stream:
            for event in stream:
                if event.type == "response.function_call_arguments.delta":
                    deltas += event.delta
            [call] = stream.get_final_response().output
        self.assertEqual((call.parsed_arguments, json.loads(deltas)), ({"city": "Oslo"}, {"city": "Oslo"}))

    def test_every_limit_closes_the_arguments(self):
        for limit in range(1, 40):
            try:
                answer = self.client.responses.create(
                    model=MODEL, tools=[WEATHER], tool_choice="required", max_output_tokens=limit, input="What is the weather in Oslo?")
            except openai.BadRequestError as e:
                self.assertLess(limit, 20, e)  # the shortest call does not fit
                continue
            self.assertIsInstance(json.loads(answer.output[0].arguments)["city"], str)

    def test_a_custom_tool_with_a_regex(self):
        tool = {"type": "custom", "name": "dial", "format": {"type": "grammar", "syntax": "regex", "definition": "[0-9]{3}-[ab]"}}
        answer = self.client.responses.create(model=MODEL, tools=[tool], tool_choice="required", temperature=0, input="Call the number 123-a.")
        self.assertRegex(answer.output[0].input, r"\A[0-9]{3}-[ab]\Z")

    def test_parse(self):
        class City(BaseModel):
            city: str

        answer = self.client.responses.parse(model=MODEL, input="Oslo", text_format=City)
        self.assertIsInstance(answer.output_parsed.city, str)

    def test_errors(self):
        for sent, error, param in [
            ({"model": "none"}, openai.NotFoundError, "model"),
            ({"tools": [{"type": "web_search"}]}, openai.BadRequestError, "tools[0].type"),
            ({"previous_response_id": "resp_1"}, openai.BadRequestError, "previous_response_id"),
        ]:
            with self.assertRaises(error) as raised:
                self.client.responses.create(**{"model": MODEL, "input": "x", **sent})
            self.assertEqual(raised.exception.param, param)


class AgentsSDK(unittest.TestCase):
    def setUp(self):
        agents.set_tracing_disabled(True)
        agents.set_default_openai_client(openai.AsyncOpenAI(**base()), use_for_tracing=False)
        self.calls = []

        @agents.function_tool
        def get_weather(city: str) -> str:
            """Get the weather in a city."""
            self.calls.append(city)
            return "snow, -3 degrees"

        self.agent = agents.Agent(
            name="helper", instructions="You are a helpful assistant.", tools=[get_weather], model=MODEL,
            model_settings=agents.ModelSettings(temperature=0))

    def test_run(self):
        result = agents.Runner.run_sync(self.agent, "What is the weather in Tokyo?")
        self.assertEqual(self.calls, ["Tokyo"])
        self.assertIn("snow, -3 degrees", result.final_output)

    def test_the_server_has_the_conversation(self):
        async def run():
            first = await agents.Runner.run(self.agent, "What is the weather in Tokyo?", auto_previous_response_id=True)
            return await agents.Runner.run(self.agent, "What is the weather in Paris?", previous_response_id=first.last_response_id)

        result = asyncio.run(run())
        self.assertEqual(self.calls, ["Tokyo", "Paris"])
        self.assertIn("snow, -3 degrees", result.final_output)

    def test_run_streamed(self):
        async def run():
            result = agents.Runner.run_streamed(self.agent, "Tell me the weather in Paris.")
            return result, [e async for e in result.stream_events()]

        result, events = asyncio.run(run())
        self.assertEqual(self.calls, ["Paris"])
        self.assertIn("snow, -3 degrees", result.final_output)
        names = [e.name for e in events if isinstance(e, agents.RunItemStreamEvent)]
        self.assertEqual(names, ["tool_called", "tool_output", "message_output_created"])


@tool
def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b


class LangChain(unittest.TestCase):
    def setUp(self):
        self.bound = ChatOpenAI(model=MODEL, temperature=0, use_responses_api=True, **base()).bind_tools([multiply])

    def test_a_call_its_result_and_an_answer(self):
        messages = [HumanMessage("How much is 17 times 23?")]
        answer = self.bound.invoke(messages)
        self.assertEqual([(c["name"], c["args"]) for c in answer.tool_calls], [("multiply", {"a": 17, "b": 23})])
        messages += [answer] + [multiply.invoke(c) for c in answer.tool_calls]
        self.assertIn("391", self.bound.invoke(messages).text)

    def test_use_previous_response_id(self):
        bound = ChatOpenAI(model=MODEL, temperature=0, use_responses_api=True, use_previous_response_id=True, **base()).bind_tools([multiply])
        messages = [HumanMessage("How much is 17 times 23?")]
        answer = bound.invoke(messages)
        messages += [answer] + [multiply.invoke(c) for c in answer.tool_calls]
        self.assertIn("391", bound.invoke(messages).text)

    def test_a_stream(self):
        whole = None
        for chunk in self.bound.stream("How much is 17 times 23?"):
            whole = chunk if whole is None else whole + chunk
        self.assertEqual([(c["name"], c["args"]) for c in whole.tool_calls], [("multiply", {"a": 17, "b": 23})])
