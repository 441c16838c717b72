"""Checks the output of `tpsp-plan --export` against the systems that read it.

    check-exports.py PART TPSP_PLAN MODEL
    check-exports.py export TARGET FILE CONFIG LAYERS

PART is one of these, and makes exports of several plans:
    megatron-flags    flags against megatron-flags.json, a table of Megatron-LM's
    megatron-core     makes the configurations of pip's megatron-core from the flags
    torchtitan-0.2    keys against the fields of the installed torchtitan
    torchtitan        likewise from 0.3 on, whose configurations are Python
    hf                transformers' own plan of a Llama

MODEL is a Llama whose parameters have their checkpoint's names. Except for
megatron-core, packages are read, not imported, so that their dependencies are
not needed.

`export` checks one exported FILE, of the first LAYERS layers of a Llama's CONFIG,
in all ways that TARGET has, and says which are skipped for want of a package.
"""

import ast
import importlib.metadata
import importlib.util
import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

try:
    import tomllib
except ImportError:  # Python 3.10
    tomllib = None

# Plans with each kind of axis and settings that Megatron can express.
MEGATRON = (["--pin", "b@dp", "--optimizer", "adamw"], ["--pin", "e@tp=8,s@tp=8"],
            ["--pin", "s@cp=2"], ["--pin", "b@dp=8", "--overlap", "on", "--optimizer", "adamw", "--clip", "1"],
            ["--stages", "2", "--stage-chunks", "2", "--micro-batches", "4"],
            ["--memory", "6GiB", "--optimizer", "adamw"],
            ["--rematerialize", "full"], ["--rematerialize", "selective"])
TORCHTITAN = (["--pin", "b@dp=8"], ["--pin", "s@tp=8"], ["--pin", "e@tp=4,s@tp=4", "--pin", "b@dp=2"],
              ["--stages", "2", "--stage-chunks", "2", "--micro-batches", "4"], ["--rematerialize", "full"])


def export(target, tpsp_plan, model, *options):
    command = [tpsp_plan, model, "--hardware", "h100-sxm", "--devices", "8", "--max-axes", "2", "--seconds", "600",
               *([] if "--overlap" in options else ["--overlap", "off"]), "--for", target, "--export", target, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


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


def flags_of(text):
    """Returns the flags of an exported array, each with its words."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    words = " ".join(lines).removeprefix("PLAN_ARGS=(").removesuffix(")").split()
    found = {}
    for word in words:
        if word.startswith("--"):
            flag = word
            found[flag] = []
        else:
            found[flag].append(word)
    return found


def value_of(words, kind):
    if kind == "flag":
        assert words == [], words
        return True
    (word,) = words
    return {"int": int, "float": float, "word": str}[kind](word)


def megatron_table():
    return json.loads((Path(__file__).parent / "megatron-flags.json").read_text())["flags"]


LLAMA_8B = {"num_hidden_layers": 4, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8}


def megatron_flags(text, _):
    """Returns the flags; all are in the table."""
    table, flags = megatron_table(), flags_of(text)
    for flag, words in flags.items():
        assert flag in table, f"{flag} is not in megatron-flags.json"
        value = value_of(words, table[flag]["kind"])
        assert value in table[flag].get("words", [value]), (flag, value)
    return list(flags)


def megatron_core(text, config):
    """Makes configurations of the flags, and returns those that have a field."""
    from megatron.core.distributed.distributed_data_parallel_config import DistributedDataParallelConfig
    from megatron.core.optimizer.optimizer_config import OptimizerConfig
    from megatron.core.transformer.transformer_config import TransformerConfig
    settings = {TransformerConfig: {"num_layers": config["num_hidden_layers"], "hidden_size": config["hidden_size"],
                                    "num_attention_heads": config["num_attention_heads"],
                                    "num_query_groups": config["num_key_value_heads"]},
                DistributedDataParallelConfig: {}, OptimizerConfig: {}}
    table, checked = megatron_table(), []
    for flag, words in flags_of(text).items():
        field, value = table[flag].get("field"), value_of(words, table[flag]["kind"])
        if field is None:
            continue
        owners = [owner for owner in settings if field in owner.__dataclass_fields__]
        assert owners, f"{flag}: no configuration has the field {field}"
        for owner in owners:
            settings[owner][field] = not value if table[flag].get("negates") else value
        checked.append(flag)
    stages = settings[TransformerConfig].get("pipeline_model_parallel_size", 1)
    if stages > 1:  # as the training script does
        import torch
        settings[TransformerConfig]["pipeline_dtype"] = torch.bfloat16
    for owner, values in settings.items():
        owner(**values)
    return checked


def torchtitan2(text, _):
    """Returns the keys; all are fields of the configuration."""
    config = fields(package("torchtitan") / "config" / "job_config.py")
    sections = {"training": "Training", "parallelism": "Parallelism", "compile": "Compile",
                "activation_checkpoint": "ActivationCheckpoint"}
    checked = []
    for section, keys in tomllib.loads(text).items():
        for key, value in keys.items():
            check_value(key, value, config[sections[section]][key])
            checked.append(key)
    return checked


def check_value(key, value, annotation):
    kinds = annotation.replace("|", " ").split()
    assert type(value).__name__ in kinds or repr(value) in annotation, (key, value, annotation)


def torchtitan3(text, _):
    """Returns the fields that are set; all are in the configuration."""
    root = package("torchtitan")
    config = fields(root / "config" / "configs.py")
    sections = {"training": "TrainingConfig", "parallelism": "ParallelismConfig", "compile": "CompileConfig"}
    policies = (root / "distributed" / "activation_checkpoint.py").read_text()
    trainer = (root / "trainer.py").read_text()
    checked = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            assert all(f"class {name.name}(" in policies for name in node.names), ast.unparse(node)
        if not isinstance(node, ast.Assign):
            continue
        _, section, *key = ast.unparse(node.targets[0]).split(".")
        assert f"        {section}: " in trainer, section
        if key:
            check_value(key[0], ast.literal_eval(node.value), config[sections[section]][key[0]])
        checked.append(section)
    return checked


def transformers(text, _):
    """Returns the modules; they and their styles are those of transformers itself."""
    plan = json.loads(text)
    root = package("transformers")
    styles = set()
    for path in [*root.glob("distributed/tensor_parallel.py"), *root.glob("integrations/tensor_parallel.py")]:
        styles |= set(re.findall(r'"([a-z_]+)"', path.read_text()))
    assert set(plan.values()) <= styles, plan
    llama = root / "models" / "llama"
    own = {**literal(llama / "configuration_llama.py", "base_model_tp_plan"),
           **literal(llama / "modeling_llama.py", "_tp_plan"), "embed_tokens": "embedding_rowwise"}
    assert plan == own, (plan, own)
    return list(plan)


def torch_call(text, _):
    """Returns the keywords of the call of tpsp_torch.apply, which has them all."""
    source = Path(__file__).parents[3] / "python" / "tpsp_torch" / "apply.py"
    (apply,) = [node for node in ast.parse(source.read_text()).body
                if isinstance(node, ast.FunctionDef) and node.name == "apply"]
    known = {argument.arg for argument in apply.args.args + apply.args.kwonlyargs}
    (call,) = [node for node in ast.walk(ast.parse(text))
               if isinstance(node, ast.Call) and ast.unparse(node.func) == "tpsp_torch.apply"]
    keywords = [keyword.arg for keyword in call.keywords]
    assert set(keywords) <= known, (keywords, known)
    return keywords


def check_megatron_flags(*program):
    seen = {flag for options in MEGATRON for flag in megatron_flags(export("megatron", *program, *options), LLAMA_8B)}
    unused = set(megatron_table()) - seen
    print(f"Megatron-LM: {len(seen)} flags are in the table; not exported here: {', '.join(sorted(unused)) or 'none'}")


def check_megatron_core(*program):
    checked = [megatron_core(export("megatron", *program, *options), LLAMA_8B) for options in MEGATRON]
    print(f"megatron-core: {sum(map(len, checked))} flags made configurations of {len(checked)} plans")


def check_torchtitan(target, check, *program):
    checked = [check(export(target, *program, *options), LLAMA_8B) for options in TORCHTITAN]
    print(f"{target}: {sum(map(len, checked))} keys are fields of its configuration")


def check_transformers(*program):
    modules = transformers(export("hf", *program, "--pin", "e@tp=8"), LLAMA_8B)
    print(f"transformers: {len(modules)} modules as its own plan")


PARTS = {"megatron-flags": check_megatron_flags, "megatron-core": check_megatron_core,
         "torchtitan-0.2": partial(check_torchtitan, "torchtitan-0.2", torchtitan2),
         "torchtitan": partial(check_torchtitan, "torchtitan", torchtitan3), "hf": check_transformers}

# The checks of a target's exports, with the packages that each needs.
CHECKS = {"megatron": [("flags in the table of Megatron-LM's", megatron_flags, []),
                       ("configurations of megatron-core", megatron_core, ["megatron-core", "torch"])],
          "torchtitan": [("fields of torchtitan's configuration", torchtitan3, ["torchtitan==0.3"])],
          "torchtitan-0.2": [("fields of torchtitan's configuration", torchtitan2, ["torchtitan==0.2"])],
          "hf": [("transformers' own plan", transformers, ["transformers"])],
          "torch": [("keywords of tpsp_torch.apply", torch_call, [])]}


def has(package):
    """Whether a package is installed; "torchtitan==0.3" is its version 0.3.x."""
    name, _, version = package.partition("==")
    try:
        found = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return not version or found.startswith(version + ".")


def check_export(target, path, config, layers):
    """Prints a line for each check of a file: accepted, or skipped. A refusal raises an error."""
    config = {**json.loads(Path(config).read_text()), "num_hidden_layers": int(layers)}
    for name, check, packages in CHECKS[target]:
        missing = [each.replace("==", " ") for each in packages if not has(each)]
        if missing:
            print(f"{name}: skipped, {missing[0]} is not installed")
        else:
            print(f"{name}: accepted, {len(check(Path(path).read_text(), config))} checked")


if __name__ == "__main__":
    if sys.argv[1] == "export":
        check_export(*sys.argv[2:])
    else:
        PARTS[sys.argv[1]](sys.argv[2], sys.argv[3])
