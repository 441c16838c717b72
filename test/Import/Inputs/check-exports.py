"""Checks the output of `tpsp-plan --export` against the packages that read it.

    check-exports.py TPSP_PLAN MODEL

MODEL is a Llama whose parameters have their checkpoint's names. Packages are
read, not imported, so that their dependencies are not needed. Flags, keys and
styles must exist under the exported names.
"""

import ast
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

try:
    import tomllib
except ImportError:  # Python 3.10
    tomllib = None


def export(tpsp_plan, model, target, *options):
    command = [tpsp_plan, model, "--hardware", "h100-sxm", "--devices", "8",
               "--overlap", "off", "--export", target, *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def package(name):
    return Path(next(iter(importlib.util.find_spec(name).submodule_search_locations)))


def fields(path):
    """Returns, by class, the fields of a file's dataclasses, with their
    annotations."""
    found = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef):
            found[node.name] = {each.target.id: ast.unparse(each.annotation) for each in node.body
                                if isinstance(each, ast.AnnAssign)}
    return found


def literal(path, name):
    """Returns the value that a module or one of its classes gives `name`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == name:
            return ast.literal_eval(node.value)
    raise SystemExit(f"{path} sets no {name}")


def check_transformers(*program):
    plan = json.loads(export(*program, "hf", "--pin", "e@tp=8"))
    root = package("transformers")
    styles = set()
    for path in [*root.glob("distributed/tensor_parallel.py"), *root.glob("integrations/tensor_parallel.py")]:
        styles |= set(re.findall(r'"([a-z_]+)"', path.read_text()))
    assert set(plan.values()) <= styles, plan
    llama = root / "models" / "llama"
    own = {**literal(llama / "configuration_llama.py", "base_model_tp_plan"),
           **literal(llama / "modeling_llama.py", "_tp_plan"), "embed_tokens": "embedding_rowwise"}
    assert plan == own, (plan, own)
    print(f"transformers: {len(plan)} modules as its own plan")


def check_torchtitan(*program):
    config = fields(package("torchtitan") / "config" / "job_config.py")
    sections = {"training": "Training", "parallelism": "Parallelism",
                "activation_checkpoint": "ActivationCheckpoint"}
    checked = 0
    for options in (["--pin", "b@dp=8"], ["--pin", "s@tp=8"],
                    ["--pin", "e@tp=4,s@tp=4", "--pin", "b@dp=2"]):
        for section, keys in tomllib.loads(export(*program, "torchtitan", *options)).items():
            for key, value in keys.items():
                annotation = config[sections[section]][key]
                assert (isinstance(value, int) if annotation == "int" else repr(value) in annotation), key
                checked += 1
    print(f"torchtitan: {checked} keys are fields of its configuration")


def check_megatron(*program):
    # The wheel has the library's configuration only. The training script's
    # parser adds these flags.
    of_script = {"micro-batch-size", "global-batch-size", "seq-length", "use-torch-fsdp2"}
    known = set()
    for path in (package("megatron") / "core").rglob("*config*.py"):
        for names in fields(path).values():
            known |= set(names)
    checked = 0
    for options in (["--pin", "b@dp", "--optimizer", "adamw"], ["--pin", "e@tp=8,s@tp=8"],
                    ["--rematerialize", "full"], ["--rematerialize", "selective"]):
        flags = re.findall(r"--([a-z0-9-]+)", export(*program, "megatron", *options))
        for flag in set(flags) - of_script:
            assert flag.replace("-", "_") in known, flag
            checked += 1
    print(f"megatron-core: {checked} flags are fields of its configuration")


if __name__ == "__main__":
    for check in (check_transformers, check_torchtitan, check_megatron):
        check(sys.argv[1], sys.argv[2])
