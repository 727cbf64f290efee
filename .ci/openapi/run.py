"""Holds the OpenAPI document of a built server to judges that others wrote, and the server to
its document: run.py PATH-TO-GLOSSA BIN-OF-PYTHON-TOOLS DIRECTORY-OF-RESULTS."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

glossa, tools, results = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
here = pathlib.Path(__file__).resolve().parent
os.environ["GLOSSA"] = glossa
sys.path.insert(0, str(here.parent / "conformance"))

from server import Server  # noqa: E402

KEY = "worker-of-the-test"
EXAMPLES = os.environ.get("EXAMPLES", "8")  # requests for each operation


def run(*command, **options):
    """Runs a command and shows its output if it fails."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout[-20000:]}\n{done.stderr[-4000:]}")
    return done.stdout + done.stderr


def node(name, *args):
    return run(here / "node_modules" / ".bin" / name, *args, cwd=here)


def operations(document):
    return sum(len(methods) for methods in document["paths"].values())


def judge(path):
    """Lints the document and generates clients from it."""
    said = node("redocly", "lint", "--config", "redocly.yaml", "--max-problems", "1000", path)
    if re.search(r"\bwarning", said.split("validating", 1)[-1]):
        sys.exit(said)
    print("redocly: no error and no warning")

    node("openapi-typescript", path, "-o", "document.d.ts")
    node("tsc", "--strict", "--noEmit", "chat.ts")
    print("openapi-typescript: the smallest requests type-check")

    out = results / "python"
    said = run(tools / "openapi-python-client", "generate", "--path", path, "--output-path", out, "--overwrite",
               env=os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"})
    made = sum(1 for file in out.glob("*/api/*/*.py") if file.name != "__init__.py")
    wanted = operations(json.loads(path.read_text()))
    if "Warning" in said or made < wanted:
        sys.exit(f"openapi-python-client generated {made} of {wanted} operations\n{said}")
    print(f"openapi-python-client: {made} operations, none dropped, no warning")


def attack(server, path, name, *args):
    """Sends valid and invalid requests, generated from the document."""
    said = run(
        tools / "schemathesis", "run", path, "--url", server.url, "--checks",
        "status_code_conformance,content_type_conformance,response_schema_conformance,no_server_error",
        "--max-examples", EXAMPLES, "--phases", "examples,fuzzing", "--generation-deterministic", "--mode", "all",
        "--suppress-health-check", "all", "--request-timeout", "60", *args, env=os.environ | {"SCHEMATHESIS_HOOKS": "checks"}, cwd=here)
    cases = re.search(r"(\d+) generated", said)
    print(f"schemathesis, {name}: {cases.group(1) if cases else 'no'} requests, no failure")
    if not cases or int(cases.group(1)) < operations(json.loads(path.read_text())):
        sys.exit(said)


results.mkdir(parents=True, exist_ok=True)
with Server() as server:
    document = results / "openapi.json"
    document.write_bytes(server.raw("GET", "/openapi.json")[2])
    judge(document)
    attack(server, document, "an open server")
with tempfile.TemporaryDirectory() as root, Server("--auth", "--checkpoints", root, env={"GLOSSA_KEYS": f"worker:{KEY}"}) as server:
    attack(server, document, "with a worker's key", "--header", f"Authorization: Bearer {KEY}")
