"""Ollama's API through its Python client and LangChain."""

import unittest

import ollama
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_ollama import ChatOllama, OllamaEmbeddings
from pydantic import BaseModel

from server import Server

GREEDY = {"temperature": 0, "num_predict": 12}


def setUpModule():
    global server
    server = unittest.enterModuleContext(Server())


def get_weather(city: str) -> str:
    """Get the weather in a city.

    Args:
        city: the city
    """
    return f"rain in {city}"


class Client(unittest.TestCase):
    def setUp(self):
        self.client = ollama.Client(host=server.url)

    def test_chat_and_generate(self):
        chat = self.client.chat("novels:latest", [{"role": "user", "content": "The old lighthouse"}], options=GREEDY)
        raw = self.client.generate("novels", "The old lighthouse", raw=True, options=GREEDY)
        self.assertEqual(chat.message.content, raw.response)
        self.assertEqual((chat.done_reason, chat.eval_count, raw.prompt_eval_count), ("length", 12, 3))
        self.assertGreater(chat.total_duration, 0)
        pieces = [line.response for line in self.client.generate("novels", "The old lighthouse", options=GREEDY, stream=True)]
        self.assertEqual("".join(pieces), raw.response)
        self.assertGreater(len(pieces), 3)

    def test_tools(self):
        messages = [{"role": "user", "content": "What is the weather in Oslo?"}]
        first = self.client.chat("tools", messages, tools=[get_weather], options={"temperature": 0})
        [call] = first.message.tool_calls
        self.assertEqual((call.function.name, call.function.arguments), ("get_weather", {"city": "Oslo"}))
        messages += [first.message, {"role": "tool", "tool_name": "get_weather", "content": "sunny, 4 degrees"}]
        last = self.client.chat("tools", messages, tools=[get_weather], options={"temperature": 0})
        self.assertIn("sunny, 4 degrees", last.message.content)

    def test_format(self):
        class Person(BaseModel):
            name: str
            age: int

        answer = self.client.chat("forms", [{"role": "user", "content": "\n\nHilda, a tall weaver of 43 years.\n"}],
                                  format=Person.model_json_schema(), options={"temperature": 0})
        self.assertEqual(Person.model_validate_json(answer.message.content).age, 43)

    def test_models(self):
        self.assertIn("novels:latest", [m.model for m in self.client.list().models])
        self.assertIn("embedding", self.client.show("sentences").capabilities)
        self.client.generate("novels")
        self.assertIn("novels:latest", [m.model for m in self.client.ps().models])
        made = self.client.embed("sentences", ["a cat", "a kitten"])
        self.assertEqual([len(v) for v in made.embeddings], [128, 128])
        with self.assertRaises(ollama.ResponseError) as caught:
            self.client.chat("nowhere", [])
        self.assertEqual(caught.exception.status_code, 404)


class LangChain(unittest.TestCase):
    def setUp(self):
        self.model = ChatOllama(model="tools", base_url=server.url, temperature=0)

    def test_tools(self):
        model = self.model.bind_tools([tool(get_weather)])
        question = HumanMessage("What is the weather in London?")
        first = model.invoke([question])
        [call] = first.tool_calls
        self.assertEqual((call["name"], call["args"]), ("get_weather", {"city": "London"}))
        last = model.invoke([question, first, ToolMessage("rain in London", tool_call_id=call["id"])])
        self.assertIn("rain in London", last.text)
        self.assertGreater(last.usage_metadata["input_tokens"], 0)

    def test_embeddings(self):
        vectors = OllamaEmbeddings(model="sentences", base_url=server.url).embed_documents(["a cat", "a kitten"])
        self.assertEqual([len(v) for v in vectors], [128, 128])


if __name__ == "__main__":
    unittest.main()
