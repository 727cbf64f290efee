"""Lints the golden templates: run.py DIRECTORY-OF-TOOLS TESTDATA.

Each finding of cfn-lint, checkov and cdk-nag must be in accepted.txt, and each line there must have a
finding. TESTDATA has a directory of templates for each variant of settings.
"""

import json
import pathlib
import subprocess
import sys

REGION = "eu-west-1"  # of the certificate in the variants' settings


def accepted(path):
    """Returns a set of (ID, type, variant) and the number of its line, by that triple."""
    lines = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("#"):
            continue
        key, colon, reason = line.partition(": ")
        fields = key.split(" ")
        if not colon or not reason or len(fields) != 3:
            sys.exit(f"{path}:{number}: want ID TYPE VARIANTS: REASON")
        for variant in fields[2].split(","):
            lines[fields[0], fields[1], variant] = number
    return lines


def start(*command, **options):
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)


def output(process, tool, codes):
    """Returns a tool's report. Exit codes other than these mean that it did not work."""
    text, _ = process.communicate()
    if process.returncode not in codes:
        sys.exit(f"{tool} failed with {process.returncode}:\n{text}")
    return json.loads(text)


def main():
    tools, testdata = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    files = sorted(str(f) for f in testdata.glob("*/*.json") if f.name != "contexts.json")
    if not files:
        sys.exit(f"{testdata} has no templates")
    cfn = start(tools / "cfn-lint", "--regions", REGION, "--format", "json", "--", *files)
    # A path of forty letters and slashes would be a secret to checkov, so it gets relative ones.
    checkov = start(tools / "checkov", "--framework", "cloudformation", "--compact", "--quiet", "--skip-download",
                    "--output", "json", "--file", *(str(pathlib.Path(f).relative_to(testdata)) for f in files), cwd=testdata)

    nag = start("node", "nag.js", testdata, stderr=subprocess.DEVNULL)  # which repeats its findings

    types = {f: {n: r["Type"] for n, r in json.loads(pathlib.Path(f).read_text())["Resources"].items()} for f in files}
    found = []  # (ID, type, file, resource, message)
    # Exit codes of cfn-lint are bits: 2 errors, 4 warnings, 8 information.
    for f in output(cfn, "cfn-lint", range(0, 15, 2)):
        path = f["Location"]["Path"]
        name = path[1] if path and len(path) > 1 and path[0] == "Resources" else ""
        found.append((f["Rule"]["Id"], types[f["Filename"]].get(name, "-"), f["Filename"], name, f["Message"]))
    report = output(checkov, "checkov", (0, 1))
    summary = report["summary"]
    if summary["parsing_errors"] or not summary["passed"]:
        sys.exit(f"checkov did not read the templates: {summary}")
    for f in report["results"]["failed_checks"]:
        kind, name = f["resource"].split(".", 1)
        found.append((f["check_id"], kind, f["file_abs_path"], name, f["check_name"]))

    report = output(nag, "cdk-nag", (0,))
    if report["templates"] != len(files):
        sys.exit(f"cdk-nag read {report['templates']} templates of {len(files)}")
    found += [(f["rule"], f["type"], f["file"], f["name"], f["message"]) for f in report["found"]]

    lines, used, bad = accepted(pathlib.Path(__file__).parent / "accepted.txt"), set(), 0
    for rule, kind, file, name, message in found:
        keys = [(rule, kind, v) for v in (pathlib.Path(file).parent.name, "*")]
        known = [k for k in keys if k in lines]
        used.update(known)
        if not known:
            bad += 1
            print(f"{file}: {name}: {rule} {kind}: {message}")
    for key in lines.keys() - used:
        bad += 1
        print(f"accepted.txt:{lines[key]}: nothing to accept: {' '.join(key)}")
    if bad:
        sys.exit(f"{bad} findings; change the templates, or accept them in accepted.txt with a reason")
    print(f"{len(files)} templates: {len(found)} findings, all accepted in {len(set(lines.values()))} lines")


main()
