"""Libraries that call tools, as their documents show them, on the starter that calls tools:
LangChain, OpenAI's Agents SDK on chat completions, and instructor."""

import asyncio
import unittest

import agents
import instructor
import openai
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

from server import Server

MODEL = "tools"


def setUpModule():
    global server
    server = unittest.enterModuleContext(Server())


def base():
    return {"base_url": server.url + "/v1", "api_key": "not-needed", "max_retries": 0}


@tool
def get_weather(city: str) -> str:
    """Get the weather in a city."""
    return f"sunny, {len(city)} degrees"


@tool
def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b


TOOLS = {t.name: t for t in (get_weather, multiply)}


class LangChain(unittest.TestCase):
    def setUp(self):
        self.model = ChatOpenAI(model=MODEL, temperature=0, **base())
        self.bound = self.model.bind_tools(list(TOOLS.values()))

    def test_a_call_its_result_and_an_answer(self):
        messages = [HumanMessage("What is the weather in Oslo?")]
        answer = self.bound.invoke(messages)
        self.assertEqual([(c["name"], c["args"]) for c in answer.tool_calls], [("get_weather", {"city": "Oslo"})])
        self.assertEqual(answer.response_metadata["finish_reason"], "tool_calls")
        messages += [answer] + [TOOLS[c["name"]].invoke(c) for c in answer.tool_calls]
        self.assertIsInstance(messages[-1], ToolMessage)
        last = self.bound.invoke(messages)
        self.assertEqual(last.tool_calls, [])
        self.assertIn("sunny, 4 degrees", last.content)
        self.assertIn("Oslo", last.content)

    def test_names(self):
        question = "What is the weather in Oslo?"
        answer = self.bound.invoke(question)
        plain = self.bound.invoke([HumanMessage(question), answer, ToolMessage("sunny", tool_call_id=answer.tool_calls[0]["id"])])
        named = answer.model_copy(update={"name": "helper"})
        result = ToolMessage("sunny", name="get_weather", tool_call_id=answer.tool_calls[0]["id"])
        self.assertEqual(self.bound.invoke([HumanMessage(question), named, result]).content, plain.content)

    def test_a_stream(self):
        whole = None
        for chunk in self.bound.stream("How much is 17 times 23?"):
            whole = chunk if whole is None else whole + chunk
        self.assertEqual([(c["name"], c["args"]) for c in whole.tool_calls], [("multiply", {"a": 17, "b": 23})])

    def test_nothing_fits(self):
        answer = self.bound.invoke("Book a hotel in Rome for 3 nights.")
        self.assertEqual((answer.tool_calls, answer.content), ([], "I have no tool for that."))

    def test_a_tool_that_is_named(self):
        bound = self.model.bind_tools(list(TOOLS.values()), tool_choice="multiply")
        self.assertEqual([c["name"] for c in bound.invoke("Multiply 6 by 7.").tool_calls], ["multiply"])

    def test_structured_output(self):
        class Reminder(BaseModel):
            """Set a reminder."""
            text: str
            time: str

        got = self.model.with_structured_output(Reminder, method="function_calling").invoke("Remind me to feed the goats at 6 pm.")
        self.assertEqual(got, Reminder(text="feed the goats", time="6 pm"))


class AgentsSDK(unittest.TestCase):
    def setUp(self):
        agents.set_tracing_disabled(True)
        self.calls = []

        @agents.function_tool
        def get_weather(city: str) -> str:
            """Get the weather in a city."""
            self.calls.append(("get_weather", city))
            return "snow, -3 degrees"

        @agents.function_tool
        def send_email(to: str, body: str) -> str:
            """Send an email to a person."""
            self.calls.append(("send_email", to, body))
            return "sent"

        client = openai.AsyncOpenAI(**base())
        self.agent = agents.Agent(
            name="helper", instructions="You are a helpful assistant.", tools=[get_weather, send_email],
            model=agents.OpenAIChatCompletionsModel(model=MODEL, openai_client=client),
            model_settings=agents.ModelSettings(temperature=0))

    def test_run(self):
        result = agents.Runner.run_sync(self.agent, "What is the weather in Tokyo?")
        self.assertEqual(self.calls, [("get_weather", "Tokyo")])
        self.assertIn("snow, -3 degrees", result.final_output)
        result = agents.Runner.run_sync(self.agent, result.to_input_list() + [{"role": "user", "content": "Send an email to Anna saying: close the gate"}])
        self.assertEqual(self.calls[1:], [("send_email", "Anna", "close the gate")])
        self.assertIn("sent", result.final_output)

    def test_run_streamed(self):
        async def run():
            result = agents.Runner.run_streamed(self.agent, "Tell me the weather in Paris.")
            return result, [e async for e in result.stream_events()]

        result, events = asyncio.run(run())
        self.assertEqual(self.calls, [("get_weather", "Paris")])
        self.assertIn("snow, -3 degrees", result.final_output)
        names = [e.name for e in events if isinstance(e, agents.RunItemStreamEvent)]
        self.assertEqual(names, ["tool_called", "tool_output", "message_output_created"])


class Instructor(unittest.TestCase):
    def test_modes(self):
        class SendEmail(BaseModel):
            """Send an email to a person."""
            to: str
            body: str

        for mode in (instructor.Mode.TOOLS, instructor.Mode.TOOLS_STRICT):
            with self.subTest(mode):
                client = instructor.from_openai(openai.OpenAI(**base()), mode=mode)
                got = client.chat.completions.create(
                    model=MODEL, response_model=SendEmail, temperature=0, max_retries=0,
                    messages=[{"role": "user", "content": "Send an email to Tom saying: bring the boat"}])
                self.assertEqual((got.to, got.body), ("Tom", "bring the boat"))
