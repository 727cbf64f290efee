"""Checks that the models of the providers' own SDKs accept the requests in chats/,
cached/ and budgets/, and writes sdk.json: the SHA-256 of each request that was accepted, by record and case. The
Go test compares them, so that a changed request is checked again."""

import base64
import collections.abc
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import types
import typing
from typing import Annotated, Any, Literal, Union

import anthropic.types
import botocore.session
import botocore.validate
import mistralai.client.models
import openai.types.chat
import typing_extensions
from typing_extensions import NotRequired, Required

HERE = pathlib.Path(__file__).parent
CONVERSE = botocore.session.get_session().get_service_model("bedrock-runtime").operation_model("Converse").input_shape


def fits(kind, value, at="$"):
    """Checks a value against a type of an SDK. Its typed dictionaries allow no other members."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Annotated, Required, NotRequired):
        return fits(args[0], value, at)
    if isinstance(kind, typing_extensions.TypeAliasType):
        return fits(kind.__value__, value, at)
    if isinstance(origin, typing_extensions.TypeAliasType):
        return fits(origin.__value__[args], value, at)
    if origin is Union or origin is types.UnionType:
        errors = []
        for choice in args:
            try:
                return fits(choice, value, at)
            except ValueError as err:
                errors.append(str(err))
        raise ValueError(max(errors, key=len))
    if origin is Literal:
        ok = value in args
    elif isinstance(kind, typing.TypeVar) or kind in (Any, object):
        ok = True
    elif typing_extensions.is_typeddict(kind):
        hints = typing_extensions.get_type_hints(kind, include_extras=True)
        marks = {name: typing.get_origin(hint) for name, hint in hints.items()}
        needed = {name for name in hints if marks[name] is Required or marks[name] is not NotRequired and name in kind.__required_keys__}
        ok = isinstance(value, dict) and needed <= set(value) <= set(hints)
        if ok:
            for name, inner in value.items():
                fits(hints[name], inner, f"{at}.{name}")
    elif origin in (list, collections.abc.Iterable, collections.abc.Sequence):
        ok = isinstance(value, list)
        if ok:
            for i, inner in enumerate(value):
                fits(args[0], inner, f"{at}[{i}]")
    elif origin in (dict, collections.abc.Mapping):
        ok = isinstance(value, dict)
        if ok:
            for name, inner in value.items():
                fits(args[1], inner, f"{at}.{name}")
    else:
        ok = isinstance(kind, type) and isinstance(value, (int, float) if kind is float else kind)
    if not ok:
        raise ValueError(f"{at}: {json.dumps(value)[:200]} is not a {getattr(kind, '__name__', kind)}")


def walk(shape, value, at="$"):
    """Checks what botocore's validator leaves to the service: patterns, enumerations, unions."""
    if shape.type_name == "structure" and not getattr(shape, "is_document_type", False):
        if getattr(shape, "is_tagged_union", False) and len(value) != 1:
            raise ValueError(f"{at} has the members {list(value)} of a union")
        for name, inner in value.items():
            walk(shape.members[name], inner, f"{at}.{name}")
    elif shape.type_name == "list":
        for i, inner in enumerate(value):
            walk(shape.member, inner, f"{at}[{i}]")
    elif shape.type_name == "string":
        pattern, words = shape.metadata.get("pattern"), shape.metadata.get("enum")
        if pattern and not re.fullmatch(pattern, value) or words and value not in words:
            raise ValueError(f"{at} is {value!r}")


def converse(body):
    for message in body["messages"]:
        for block in message["content"]:
            if "image" in block:
                source = block["image"]["source"]
                source["bytes"] = base64.b64decode(source["bytes"], validate=True)
    report = botocore.validate.ParamValidator().validate({"modelId": "m", **body}, CONVERSE)
    if report.has_errors():
        raise ValueError(report.generate_report())
    walk(CONVERSE, body)
    roles = [m["role"] for m in body["messages"]]
    if any(a == b for a, b in zip(roles, roles[1:])):
        raise ValueError(f"roles do not alternate: {roles}")


def nova(body):
    assert body.pop("schemaVersion") == "messages-v1"
    converse(body)


def claude(body):
    assert body.pop("anthropic_version") == "bedrock-2023-05-31"
    body.pop("temperature", None)  # of earlier versions of the SDK
    kind = anthropic.types.message_create_params.MessageCreateParamsNonStreaming
    fits(kind, {"model": "m", **body})


def mistral(body):
    fits(mistralai.client.models.ChatCompletionRequestTypedDict, {"model": "m", **body})
    for message in body["messages"]:
        for call in [message.get("tool_call_id")] + [c["id"] for c in message.get("tool_calls", [])]:
            if call is not None and not re.fullmatch("[A-Za-z0-9]{9}", call):
                raise ValueError(f"the id {call!r}")


def chat(body):
    body.pop("chat_template_kwargs", None)  # of vLLM and SGLang
    kind = openai.types.chat.completion_create_params.CompletionCreateParamsNonStreaming
    fits(kind, {"model": "m", **body})


def main():
    subprocess.run(["go", "test", ".", "-run", "^Test(Cached|Budget)?Chats$", "-update"], cwd=HERE.parent, check=True, stdout=sys.stderr)
    check = {
        "bedrock-anthropic": claude, "bedrock-amazon.nova-2": converse, "bedrock-openai": converse, "bedrock-deepseek": converse,
        "bedrock-amazon.nova": nova, "bedrock-mistral": mistral,
        "bedrock-meta": converse, "bedrock-cohere.command-r": converse, "sagemaker-tgi-chat": chat, "sagemaker-lmi-chat": chat,
    }
    accepted = {}
    for path in sorted((HERE / "chats").glob("*.json")) + sorted((HERE / "cached").glob("*.json")) + sorted((HERE / "budgets").glob("*.json")):
        record = path.stem + ("" if path.parent.name == "chats" else " " + path.parent.name)
        for case in json.loads(path.read_text()):
            if "request" not in case or "prompt" in case["request"]:
                continue
            body = json.dumps(case["request"], sort_keys=True, separators=(",", ":"))
            try:
                check[path.stem](json.loads(body))
            except Exception as err:
                sys.exit(f"{path.stem}, {case['case']}: {err}")
            accepted.setdefault(record, {})[case["case"]] = hashlib.sha256(body.encode()).hexdigest()
    (HERE / "sdk.json").write_text(json.dumps(accepted, indent=2) + "\n")
    print(f"{sum(map(len, accepted.values()))} requests of {len(accepted)} records are accepted")


main()
