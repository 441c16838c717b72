"""Makes the archives in test/Import/Inputs/torch, once, with what PyTorch computes.

    make-archives.py FOLDER [NAME...]

Writes NAME.pt2, NAME-inputs.safetensors and NAME.safetensors: the output, the loss and
the gradients, "g[NAME]". Archives are compressed, and paths in them are shortened. Needs torch, transformers
and safetensors.
"""
import json
import pathlib
import re
import sys
import tempfile
import zipfile

import torch
from safetensors.torch import save_file

import modules
import techniques

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python"))
import tpsp_torch


class Logits(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(input_ids=ids, use_cache=False).logits


def llama():
    import transformers
    config = transformers.LlamaConfig(
        hidden_size=16, intermediate_size=24, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, vocab_size=20,
        max_position_embeddings=16, tie_word_embeddings=True, bos_token_id=None, eos_token_id=None, initializer_range=0.2)
    return modules.words(Logits(transformers.LlamaForCausalLM(config)), 20)


def mixtral():
    import transformers
    config = transformers.MixtralConfig(
        hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, vocab_size=20,
        num_local_experts=4, num_experts_per_tok=2, max_position_embeddings=16, bos_token_id=None, eos_token_id=None,
        initializer_range=0.2)
    return modules.words(Logits(transformers.MixtralForCausalLM(config)), 20)


class NextWords(torch.nn.Module):
    """The loss of a model of transformers."""

    def __init__(self, model):
        super().__init__()
        self.model = Logits(model)

    def forward(self, ids, labels):
        return modules.classes(self.model(ids).float(), labels)


def llama_8b():
    """Two layers of Llama-3.1-8B at its real size, without weights."""
    import transformers
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
    published = pathlib.Path(__file__).parents[1] / "Import/Inputs/published/llama-3.1-8b.json"
    config = transformers.LlamaConfig(**json.loads(published.read_text()) | {"num_hidden_layers": 2})
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("meta"):
        model = transformers.LlamaForCausalLM(config)
    torch.set_default_dtype(torch.float32)
    model.model.rotary_emb = LlamaRotaryEmbedding(config)  # Buffers are saved in full.
    ids = torch.zeros(2, 64, dtype=torch.int64)
    return NextWords(model), {"ids": ids, "labels": ids.clone()}


class Dynamic(torch.nn.Module):
    """Was exported with dimensions that are given later."""

    def __init__(self):
        super().__init__()
        self.gpt = modules.Gpt(layers=2)

    def forward(self, ids, labels):
        out = self.gpt(ids)
        return out, modules.classes(out, labels)


def dynamic(batch=2, length=8):
    words = lambda: torch.randint(0, 20, (batch, length))
    return Dynamic(), {"ids": words(), "labels": words()}


def unlabelled():
    """Its loss is added by tpsp-import."""
    return modules.words(modules.Gpt(layers=1), 20)


class Refused(torch.nn.Module):
    """Has two operations that are refused, on one line each."""

    def forward(self, image, labels):
        best = image.mode(-1).values
        return best, torch.nn.functional.mse_loss(image.median(-1).values + best, labels)


def refused():
    return Refused(), {"image": torch.randn(3, 5), "labels": torch.randn(3)}


ARCHIVES = {name: modules.MODULES[name] for name in ("activations", "orders", "transforms", "enlarged", "recurrent", "rotations", "bags", "shared", "alternating", "statistics", "narrow", "gpt-tied", "convolutions", "detection", "diffusion", "dlrm", "state-space")}
ARCHIVES |= {"llama": llama, "mixtral": mixtral, "batch-norm": modules.MODULES["batch-norm"], "dynamic": dynamic, "unlabelled": unlabelled, "refused": refused, "llama-8b": llama_8b, "sorts": techniques.TECHNIQUES["sorts"]}
WITHOUT_WEIGHTS = {"llama-8b"}
DIMS = {0: torch.export.Dim("batch", min=2, max=64), 1: torch.export.Dim("length", min=2, max=12)}


def shortened(text):
    text = re.sub(r'File \\"[^"]*/site-packages/', r'File \\"/lib/', text)
    return re.sub(r'File \\"(?!/lib/)[^"]*/', r'File \\"', text)


def compress(source, target):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for name in old.namelist():
            if "sample_inputs" in name:
                continue
            data = old.read(name)
            short = "archive/" + name.split("/", 1)[1]
            if name.endswith("models/model.json"):
                data = shortened(json.dumps(json.loads(data), separators=(",", ":"))).encode()
            new.writestr(zipfile.ZipInfo(short), data, zipfile.ZIP_DEFLATED)


def save(path, tensors):
    save_file({name: tensor.contiguous().clone() for name, tensor in tensors.items()}, path)
    path.chmod(0o644)


def make(name, folder):
    torch.manual_seed(0)
    module, inputs = ARCHIVES[name]()
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "model.pt2"
        dims = {1: torch.export.Dim("length", min=2, max=131072)} if name in WITHOUT_WEIGHTS else DIMS
        shapes = {"ids": dims, "labels": dims} if name == "dynamic" or name in WITHOUT_WEIGHTS else None
        if name == "unlabelled":
            tpsp_torch.export(module.network, (inputs["ids"],), path)
        else:
            tpsp_torch.export(module, (), path, kwargs=inputs, dynamic_shapes=shapes, weights=name not in WITHOUT_WEIGHTS)
        compress(path, folder / f"{name}.pt2")
    if name in WITHOUT_WEIGHTS:
        return
    if name == "dynamic":
        inputs = dynamic(batch=3, length=10)[1]
    out, loss = module(**inputs)
    if name == "refused":
        return
    loss.backward()
    owner = module.network if name == "unlabelled" else module
    gradients = {f"g[{n}]": p.grad for n, p in owner.named_parameters() if p.grad is not None}
    save(folder / f"{name}-inputs.safetensors", {**inputs, "g[out]": torch.zeros_like(out)})
    save(folder / f"{name}.safetensors", {"out": out.detach(), "loss": loss.detach(), **gradients, **modules.statistics(module)})


for one in sys.argv[2:] or ARCHIVES:
    make(one, pathlib.Path(sys.argv[1]))
