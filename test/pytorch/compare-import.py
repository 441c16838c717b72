"""Compares imported PyTorch modules with PyTorch: outputs, loss, every gradient.

    compare-import.py FOLDER MODEL...     tpsp's tools must be in PATH
    compare-import.py FOLDER --draw 60 --seed 1

MODEL is KIND:ARCHITECTURE of transformers (causal:llama, masked:bert, seq2seq:t5,
image:vit), in small form, or module:NAME of modules.py, networks.py or techniques.py.
Each is exported with its loss, imported, and run on one rank and on a mesh of two
axes. The table has a line for each, and the reason if a step failed. Outputs and losses
must agree to 1e-5, gradients to 1e-4, relative, in the Euclidean norm. A gradient that
is 0 but for rounding must be below 5e-5 of the largest. Status 1 if anything failed.

--draw N takes architectures of transformers in a random order, until N of them have
been exported within a minute of processor time each, and within the limit of memory.
Those that are not are left out.

--export only exports. --keep uses what an earlier call has exported, and does not try
again what could not be. So a call that was interrupted goes on where it ended.
"""
import argparse
import contextlib
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import sys
import time
import warnings

warnings.filterwarnings("ignore")
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import numpy
import torch
from safetensors.torch import load_file, save_file

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python"))
import tpsp_torch

EXPORT_SECONDS = 60
BATCH, SEQUENCE, CLASSES, WORDS = 2, 16, 10, 160
LOSS, GRADIENT, ZERO, ALMOST = 1e-5, 1e-4, 1e-5, 5e-5
MESH = ["--place", "ddp-tp", "--mesh", "dp=2,tp=2"]
KINDS = {"causal": "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "masked": "MODEL_FOR_MASKED_LM_MAPPING_NAMES",
         "seq2seq": "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES", "image": "MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES"}
SMALL = dict(
    hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16, intermediate_size=96,
    vocab_size=WORDS, max_position_embeddings=64, n_embd=64, n_layer=2, n_head=4, n_positions=64, d_model=64, num_layers=2,
    num_heads=4, d_kv=16, d_ff=96, n_inner=96, ffn_dim=96, num_experts=4, num_local_experts=4, n_routed_experts=4,
    num_experts_per_tok=2, moe_intermediate_size=48, pad_token_id=0, bos_token_id=1, eos_token_id=2, encoder_layers=2,
    decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=96, decoder_ffn_dim=96,
    word_embed_proj_dim=64, embedding_size=64, rotary_dim=8, image_size=32, patch_size=8, num_labels=CLASSES, q_lora_rank=32,
    kv_lora_rank=32, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=16)


class WithLoss(torch.nn.Module):
    """The model's logits, and the mean cross-entropy of `labels`."""

    def __init__(self, model, more):
        super().__init__()
        self.model, self.more = model, more

    def forward(self, labels=None, **inputs):
        logits = self.model(**inputs, **self.more).logits
        return logits, torch.nn.functional.cross_entropy(logits.float().flatten(0, -2), labels.flatten())


def set_small(config, key, value):
    """Sets a number of the configuration, unless it lacks it, computes it, or has one for each layer."""
    try:
        old = getattr(config, key, None)
        if isinstance(old, (int, float)) and not isinstance(old, bool):
            setattr(config, key, value)
    except Exception:  # Each class of configurations has its own.
        pass


def small_config(name):
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING
    config = CONFIG_MAPPING[name]()
    for key, value in SMALL.items():
        set_small(config, key, value)
    if getattr(config, "qk_rope_head_dim", None):
        set_small(config, "head_dim", config.qk_rope_head_dim)  # Only these features are rotated.
        set_small(config, "num_key_value_heads", SMALL["num_attention_heads"])  # Latent attention shares no keys.
    if getattr(config, "expand", None) and getattr(config, "head_dim", None):
        set_small(config, "num_heads", int(config.expand * config.hidden_size) // config.head_dim)
    config.use_cache = False
    if isinstance(getattr(config, "layer_types", None), list):
        with contextlib.suppress(AttributeError):
            config.layer_types = config.layer_types[:2]
    return config


def of_transformers(kind, name):
    import transformers
    from transformers.models.auto import modeling_auto
    cls = getattr(modeling_auto, KINDS[kind])[name]
    torch.manual_seed(0)
    model = getattr(transformers, cls if isinstance(cls, str) else cls[0])(small_config(name)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))  # No gain is 1, and no bias 0.
    words = lambda: torch.randint(3, 100, (BATCH, SEQUENCE))
    if kind == "image":
        inputs = {"pixel_values": torch.randn(BATCH, 3, 32, 32), "labels": torch.randint(0, CLASSES, (BATCH,))}
    else:
        labels = words()
        labels[0, :3] = -100  # These do not count.
        inputs = {"input_ids": words(), "labels": labels}
    if kind == "seq2seq":
        inputs["decoder_input_ids"] = words()
    return WithLoss(model, {"use_cache": False} if kind in ("causal", "seq2seq") else {}), inputs


def build(spec):
    kind, name = spec.split(":", 1)
    if kind != "module":
        return of_transformers(kind, name)
    from modules import MODULES
    from networks import NETWORKS
    from techniques import TECHNIQUES
    torch.manual_seed(0)
    return (MODULES | NETWORKS | TECHNIQUES)[name]()


def export(spec, folder, keeps):
    """Writes the archive and the inputs. Returns outputs, loss and gradients by name."""
    kept, refused = folder / "reference.safetensors", folder / "refused.txt"
    if keeps and refused.exists():
        raise RuntimeError(refused.read_text())
    if keeps and kept.exists():
        tensors = {name: tensor.numpy() for name, tensor in load_file(kept).items()}
        return tensors.pop("out"), float(tensors.pop("loss")), tensors
    refused.write_text("its export ended this script")
    module, inputs = build(spec)
    exported = tpsp_torch.export(module, (), folder / "model.pt2", kwargs=inputs)
    used = {node.name for node in exported.graph.nodes if node.op == "placeholder" and node.users}
    for parameter in module.parameters():
        parameter.grad = None
    outputs, loss = module(**inputs)
    loss.backward()
    tensors = {name: value for name, value in inputs.items() if name in used}  # A program takes no others.
    tensors["g[out]"] = torch.zeros_like(outputs)
    save_file({k: v.contiguous().clone() for k, v in tensors.items()}, folder / "inputs.safetensors")
    import modules
    gradients = {n: p.grad.numpy() for n, p in module.named_parameters() if p.grad is not None}
    gradients |= {n: t.numpy() for n, t in modules.statistics(module).items()}
    outputs = outputs.detach().float()
    refused.unlink()
    save_file({"out": outputs.contiguous(), "loss": loss.detach()}
              | {n: torch.tensor(g) for n, g in gradients.items()}, kept)
    return outputs.numpy(), loss.item(), gradients


def limit_memory(size):
    """Limits the addresses of this process, and of each that it starts."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (size if most == resource.RLIM_INFINITY else min(size, most), most))


def run(*command):
    """Runs a tool."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        text = (done.stderr or done.stdout or f"status {done.returncode}").strip()
        raise RuntimeError(f"{pathlib.Path(str(command[0])).name}: {text}")
    return done.stderr


def error(ours, theirs):
    return float(numpy.linalg.norm(ours - theirs) / max(numpy.linalg.norm(theirs), 1e-30))


def compute(folder, flags):
    """Returns what was recognised, and all tensors of a run with gradients."""
    said = run("tpsp-import", folder / "model.pt2", "-o", folder / "model.mlir", "--recognised", "--save-weights",
               folder / "weights.safetensors", "--save-constants", folder / "constants.safetensors", *flags)
    given = ["--inputs", folder / "inputs.safetensors"]
    if load_file(folder / "constants.safetensors"):
        given += ["--inputs", folder / "constants.safetensors"]
    run("tpsp-run", folder / "model.mlir", "--quiet", "--grad", "--weights", folder / "weights.safetensors", *given,
        "--save-all", folder / "all.safetensors")
    return said, {name: tensor.float().numpy() for name, tensor in load_file(folder / "all.safetensors").items()}


def compare(ours, outputs, loss, gradients):
    """Returns the largest errors of outputs, loss and gradients, and the worst gradient's name."""
    largest = max(numpy.linalg.norm(g) for g in gradients.values())
    worst, name = 0.0, ""
    for parameter, theirs in gradients.items():
        found = ours.get(parameter if parameter.startswith("new_") else f"g[{parameter}]")
        if found is None:
            if numpy.linalg.norm(theirs) > ZERO * largest:
                raise RuntimeError(f"no gradient of {parameter}")
            continue
        if numpy.linalg.norm(theirs) <= ZERO * largest:
            one = GRADIENT / ALMOST * float(numpy.linalg.norm(found)) / largest
        else:
            one = error(found.reshape(theirs.shape), theirs)
        if not one <= worst:
            worst, name = one, parameter
    return error(ours["out"], outputs), abs(float(ours["loss"]) - loss) / abs(loss), worst, name


@contextlib.contextmanager
def limited(seconds):
    """Raises TimeoutError in the block if it takes more time of a CPU. Others may use the machine, too."""
    def stop(*_):
        raise TimeoutError(f"takes longer than {seconds} s")
    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def row(spec, root, keeps, only_exports):
    """Returns whether it is right, the table's cells, and the counts; None if it was not exported."""
    folder = root / spec.replace(":", "-")
    folder.mkdir(parents=True, exist_ok=True)
    cells, said = [], ""
    try:
        begin = time.time()
        with limited(EXPORT_SECONDS):
            outputs, loss, gradients = export(spec, folder, keeps)
        cells.append(f"{time.time() - begin:.1f} s")
    except Exception as fault:
        why = " ".join((str(fault) or type(fault).__name__).split())[:300]
        (folder / "refused.txt").write_text(why)
        return None, ["no: " + why], ""
    if only_exports:
        return True, cells, ""
    for flags in ([], MESH):
        try:
            said, ours = compute(folder, flags)
            out, of_loss, gradient, worst = compare(ours, outputs, loss, gradients)
            cells.append(f"{out:.0e} {of_loss:.0e} {gradient:.0e}")
            if not (out <= LOSS and of_loss <= LOSS and gradient <= GRADIENT):
                return False, cells + [f"differs: {worst}"], said
        except Exception as fault:
            return False, cells + [" ".join(str(fault).split())[:900]], said
    return True, cells, said


def drawn(seed):
    """All architectures of the four kinds, in a random order."""
    from transformers.models.auto import modeling_auto
    specs = [f"{kind}:{name}" for kind, names in KINDS.items() for name in getattr(modeling_auto, names)]
    random.Random(seed).shuffle(specs)
    return specs


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=pathlib.Path)
    options.add_argument("--keep", action="store_true", help="use archives of an earlier call")
    options.add_argument("--export", action="store_true", help="only export")
    options.add_argument("--draw", type=int, metavar="N", help="architectures drawn from all")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--memory", type=float, default=8, metavar="GIB", help="addresses of an export, an import or a run (8)")
    options.add_argument("models", nargs="*")
    arguments = options.parse_args()
    if bool(arguments.models) == bool(arguments.draw):
        options.error("give models, or --draw")
    torch.set_num_threads(1)
    limit_memory(int(arguments.memory * 2**30))
    print("| model | exported | outputs, loss, gradients: one rank | dp = 2, tp = 2 | recognised |\n| --- | --- | --- | --- | --- |")
    good = exported = 0
    for spec in arguments.models or drawn(arguments.seed):
        is_good, cells, said = row(spec, arguments.folder, arguments.keep, arguments.export)
        exported += is_good is not None
        good += bool(is_good)
        counts = re.sub(r"(attention|with a bias|rope|norms|losses|repeated layers): ", r"\1 ", said.strip())
        print("|", " | ".join([spec, *cells, counts]), "|", flush=True)
        if exported == arguments.draw:
            break
    print(f"\n{good} of {exported} that were exported are {'there' if arguments.export else 'right'}.")
    return 0 if good == exported and (arguments.draw or exported == len(arguments.models)) else 1


sys.exit(main())
