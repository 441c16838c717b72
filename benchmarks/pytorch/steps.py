"""A whole training step of some models against PyTorch's on the same GPU:
forward, loss, backward, clipping by the norm of all gradients, AdamW. Products
are in bf16; masters, moments and the loss are in f32; nothing is rematerialised.

    python3 benchmarks/pytorch/steps.py FOLDER --emit     (where tpsp was built)
    python3 benchmarks/pytorch/steps.py FOLDER            (with a GPU)

FOLDER has bin/tpsp-run and lib/, as test/gpu/prepare makes it. --emit writes the
plans to FOLDER/steps.

  gpt2       GPT-2 small, 16 sequences of 1024; both pad the table to 50304 rows
  llama-1b   Llama 3.2 1B with its scaled rope, 2 sequences of 4096
  vit-l      ViT-L/16, 64 images of 196 patches, the mean of patches as the image
  mixtral    8 layers of width 1024 with 8 experts of 3584, 2 a token, none
             dropped; 4 sequences of 2048

PyTorch runs each model in four ways:

  eager, compile     as written, and by torch.compile
  autocast           parameters in f32, under torch.autocast, as most trainers do;
                     what is between products is then mostly in f32
  bf16               parameters in bf16, and masters of them, as tpsp does

All run in turns, and every step ends with waiting for the device. A turn begins
with steps that do not count, from new parameters; while others run, a model has
no memory on the device. Prints medians over all rounds, and writes them to --out after
every model. --lock FILE is for a process for each model: they compile at the same
time, then wait for the file's lock (flock) and measure one after another.

--tiny runs small sizes of the same models, on CPUs with --device cpu. It first
compares three steps in f32 from the same parameters with tpsp's, by the losses
and the norms of the gradients, and the number of FLOPs of products.
"""

import argparse
import contextlib
import fcntl
import gc
import json
import math
import os
import re
import statistics
import subprocess
import tempfile
import threading
import time
import traceback
from collections import Counter
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

import compare
from compare import timed
from example import resized
from llama_layer import rotate

ROOT = Path(__file__).resolve().parents[2]
WARM_UP, CLIP, RATE = 10, 1.0, 1e-4
# tpsp's defaults. It decays parameters of two indices or more.
ADAMW, DECAY = dict(betas=(0.9, 0.95), eps=1e-8), 0.1
TOLERANCE = 1e-4
STEP = ["--grad", "--optimizer", "adamw", "--clip", str(CLIP), "--attention",
        "fused", "--input-gradients", "off"]
KERNELS = 40
# The order in which --sdpa cudnn tries them.
CUDNN_FIRST = [SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION,
               SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    listed = lambda text: text.split(",")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--emit", action="store_true", help="only write the plans")
    parser.add_argument("--models", type=listed, default=list(MODELS))
    parser.add_argument("--variants", type=listed, default=["eager", "compile"],
                        help="of PyTorch: eager,compile or eager-bf16,...")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=15, help="of a round")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--mode", default="default", help="of torch.compile")
    parser.add_argument("--sdpa", choices=["default", "cudnn"], default="default",
                        help="the attention that PyTorch prefers")
    parser.add_argument("--lock", type=Path, help="held while a model is measured")
    parser.add_argument("--kernels", action="store_true",
                        help="also write the times of kernels to --out")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--deadline", type=float, default=math.inf,
                        help="seconds after which no turn begins")
    parser.add_argument("--out", type=Path, default=Path("steps.json"))
    return parser.parse_args()


class Block(nn.Module):
    """A layer of GPT-2 or of a ViT."""

    def __init__(self, d, h, e, causal, gelu, eps, **_):
        super().__init__()
        self.heads, self.causal, self.gelu = h, causal, gelu
        self.ln_1, self.ln_2 = nn.LayerNorm(d, eps), nn.LayerNorm(d, eps)
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.w1, self.w2 = nn.Linear(d, e), nn.Linear(e, d)

    def forward(self, x):
        b, s, d = x.shape
        q, k, v = (y.view(b, s, self.heads, -1).transpose(1, 2)
                   for y in self.qkv(self.ln_1(x)).split(d, -1))
        o = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.o(o.transpose(1, 2).reshape(b, s, d))
        m = F.gelu(self.w1(self.ln_2(x)), approximate=self.gelu)
        return x + self.w2(m)

    def exported(self):
        """Returns the parameters by their names in tpsp."""
        h, d = self.heads, self.o.weight.shape[0]
        cut = lambda tensor: tensor.view(3, h, d // h, *tensor.shape[1:])
        named = {"attn.wo": self.o.weight.view(d, h, d // h), "attn.bo": self.o.bias}
        for i, name in enumerate("qkv"):
            named[f"attn.w{name}"] = cut(self.qkv.weight)[i]
            named[f"attn.b{name}"] = cut(self.qkv.bias)[i]
        for i, linear in (1, self.w1), (2, self.w2):
            named |= {f"mlp.w{i}": linear.weight, f"mlp.b{i}": linear.bias}
        for name in "ln_1", "ln_2":
            norm = getattr(self, name)
            named |= {f"{name}.weight": norm.weight, f"{name}.bias": norm.bias}
        return named


class Blocks(nn.Module):
    """The layers of GPT-2 or of a ViT, and the norm after them."""

    def __init__(self, layers, d, eps, **sizes):
        super().__init__()
        self.h = nn.ModuleList(Block(d=d, eps=eps, **sizes) for _ in range(layers))
        self.ln_f = nn.LayerNorm(d, eps)

    def forward(self, x):
        for block in self.h:
            x = block(x)
        return self.ln_f(x)

    def exported(self):
        named = {f"h.{i}.{name}": tensor for i, block in enumerate(self.h)
                 for name, tensor in block.exported().items()}
        return named | {"ln_f.weight": self.ln_f.weight, "ln_f.bias": self.ln_f.bias}

    def decays(self, name, parameter):
        """Returns whether AdamW decays it: in tpsp, biases of heads have two
        indices."""
        return parameter.dim() > 1 or name.endswith("qkv.bias")


def cross_entropy(logits, targets):
    return F.cross_entropy(logits.float().flatten(0, -2), targets.flatten())


class Gpt2(Blocks):
    SIZES = dict(b=16, s=1024, d=768, h=12, e=3072, v=50257, p=1024, layers=12)
    TINY = dict(b=2, s=32, d=128, h=2, e=256, v=250, p=40, layers=2)
    UNIT, PAD = "tokens", 64

    def __init__(self, v, p, padded, **sizes):
        super().__init__(causal=True, gelu="tanh", eps=1e-5, **sizes)
        d = sizes["d"]
        rows = math.ceil(v / self.PAD) * self.PAD if padded else v
        self.wte, self.wpe = nn.Embedding(rows, d), nn.Embedding(p, d)
        self.head = nn.Linear(d, rows, bias=False)
        self.head.weight = self.wte.weight
        self.padding = (rows - v) * d

    def forward(self, tokens, targets, positions):
        x = super().forward(self.wte(tokens) + self.wpe(positions))
        return cross_entropy(self.head(x), targets)

    def exported(self):
        return super().exported() | {"wte": self.wte.weight, "wpe": self.wpe.weight}

    @staticmethod
    def batch(b, s, v, **_):
        tokens = torch.randint(v, (b, s + 1))
        return dict(tokens=tokens[:, :-1], targets=tokens[:, 1:],
                    positions=torch.arange(s))

    @classmethod
    def program(cls, path, sizes, padded):
        write(path, ROOT / "examples/gpt2-small.mlir", sizes)
        return ["--mesh", "dp=1", *(["--pad", f"v={cls.PAD}"] if padded else [])]


class Vit(Blocks):
    SIZES = dict(b=64, s=196, c=768, d=1024, h=16, e=4096, v=1000, layers=24)
    TINY = dict(b=2, s=20, c=48, d=128, h=2, e=256, v=10, layers=2)
    UNIT = "images"
    padding = 0

    def __init__(self, s, c, v, padded, **sizes):
        super().__init__(causal=False, gelu="none", eps=1e-6, **sizes)
        d = sizes["d"]
        self.patch, self.head = nn.Linear(c, d), nn.Linear(d, v)
        self.position = nn.Parameter(torch.empty(s, d))

    def forward(self, patches, labels):
        x = super().forward(self.patch(patches) + self.position)
        return cross_entropy(self.head(x.mean(1)), labels)

    def exported(self):
        named = {"position": self.position}
        for name in "patch", "head":
            linear = getattr(self, name)
            named |= {f"{name}.weight": linear.weight, f"{name}.bias": linear.bias}
        return super().exported() | named

    @staticmethod
    def batch(b, s, c, v, **_):
        return dict(patches=torch.randn(b, s, c), labels=torch.randint(v, (b,)))

    @staticmethod
    def program(path, sizes, padded):
        write(path, ROOT / "benchmarks/pytorch/models/vit-l.mlir", sizes)
        return []


def write(path, source, sizes):
    """Writes a program with other extents and another number of layers."""
    indices = {name: extent for name, extent in sizes.items() if name != "layers"}
    indices["k"] = sizes["d"] // sizes["h"]
    text = resized(source.read_text(), **indices)
    path.write_text(re.sub(r"repeat \d+ ", f"repeat {sizes['layers']} ", text))


class Experts(nn.Module):
    """Experts without slots: tokens are sorted by expert, as in transformers'
    grouped_mm."""

    def __init__(self, d, f, experts, choices):
        super().__init__()
        self.choices = choices
        self.router = nn.Linear(d, experts, bias=False)
        self.w13 = nn.Parameter(torch.empty(experts, 2 * f, d))
        self.w2 = nn.Parameter(torch.empty(experts, d, f))

    def forward(self, x):
        b, s, d = x.shape
        x = x.reshape(-1, d)
        scores, chosen = self.router(x).float().topk(self.choices, -1)
        ids, order = chosen.flatten().sort()
        # How many rows there are up to the end of each expert's.
        every = torch.arange(self.w2.shape[0], device=x.device)
        ends = torch.searchsorted(ids, every, right=True, out_int32=True)
        # Autocast leaves out grouped products.
        dtype = self.router.weight.dtype
        if torch.is_autocast_enabled(x.device.type):
            dtype = torch.get_autocast_dtype(x.device.type)
        grouped = lambda rows, weight: F.grouped_mm(
            rows, weight.to(dtype).transpose(1, 2), offs=ends)
        rows = x.to(dtype)[order // self.choices]
        gate, up = grouped(rows, self.w13).chunk(2, -1)
        down = grouped(F.silu(gate) * up, self.w2)
        back = down[order.argsort()].view(-1, self.choices, d)
        weight = scores.softmax(-1).to(dtype)
        return (back * weight[..., None]).sum(1).view(b, s, d)

    def exported(self):
        named = {"block_sparse_moe.gate.weight": self.router.weight}
        for i, (w13, w2) in enumerate(zip(self.w13, self.w2)):
            w1, w3 = w13.chunk(2)
            for name, weight in ("w1", w1), ("w2", w2), ("w3", w3):
                named[f"block_sparse_moe.experts.{i}.{name}.weight"] = weight
        return named


class SwiGlu(nn.Module):
    def __init__(self, d, e):
        super().__init__()
        self.gate_proj, self.up_proj = (nn.Linear(d, e, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(e, d, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))

    def exported(self):
        return {f"mlp.{name}": weight for name, weight in self.named_parameters()}


class LlamaLayer(nn.Module):
    """Also one of Mixtral."""

    def __init__(self, config):
        super().__init__()
        d, e = config["hidden_size"], config["intermediate_size"]
        self.heads, self.groups = (config[f"num_{kind}_heads"]
                                   for kind in ("attention", "key_value"))
        self.k = config["head_dim"]
        self.norm_1, self.norm_2 = (nn.RMSNorm(d, config["rms_norm_eps"])
                                    for _ in range(2))
        heads = self.heads + 2 * self.groups
        self.qkv = nn.Linear(d, heads * self.k, bias=False)
        self.o = nn.Linear(self.heads * self.k, d, bias=False)
        self.mlp = (Experts(d, e, config["num_local_experts"],
                            config["num_experts_per_tok"])
                    if "num_local_experts" in config else SwiGlu(d, e))

    def parts(self):
        return [count * self.k for count in (self.heads, self.groups, self.groups)]

    def forward(self, x, cos, sin):
        b, s, _ = x.shape
        q, k, v = (y.view(b, s, -1, self.k).transpose(1, 2)
                   for y in self.qkv(self.norm_1(x)).split(self.parts(), -1))
        cos, sin = cos.to(q.dtype), sin.to(q.dtype)
        o = F.scaled_dot_product_attention(
            rotate(q, cos, sin), rotate(k, cos, sin), v, is_causal=True,
            enable_gqa=True)
        x = x + self.o(o.transpose(1, 2).reshape(b, s, -1))
        return x + self.mlp(self.norm_2(x))

    def exported(self):
        q, k, v = self.qkv.weight.split(self.parts())
        return {"input_layernorm.weight": self.norm_1.weight,
                "post_attention_layernorm.weight": self.norm_2.weight,
                "self_attn.q_proj.weight": q, "self_attn.k_proj.weight": k,
                "self_attn.v_proj.weight": v, "self_attn.o_proj.weight": self.o.weight,
                **self.mlp.exported()}


class Llama(nn.Module):
    """A model of a config.json, which tpsp-import reads, too."""

    UNIT = "tokens"
    padding = 0
    SIZES = dict(b=2, s=4096, config=dict(
        architectures=["LlamaForCausalLM"], hidden_size=2048, intermediate_size=8192,
        num_hidden_layers=16, num_attention_heads=32, num_key_value_heads=8,
        head_dim=64, vocab_size=128256, rms_norm_eps=1e-5, tie_word_embeddings=True,
        rope_theta=500000.0, rope_scaling=dict(
            rope_type="llama3", factor=32.0, low_freq_factor=1.0,
            high_freq_factor=4.0, original_max_position_embeddings=8192)))
    TINY = dict(b=2, s=32, config=SIZES["config"] | dict(
        hidden_size=64, intermediate_size=96, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=16, vocab_size=250,
        rope_theta=100.0, rope_scaling=SIZES["config"]["rope_scaling"] | dict(
            original_max_position_embeddings=16)))

    def __init__(self, s, config, padded, **_):
        super().__init__()
        d, v = config["hidden_size"], config["vocab_size"]
        self.embed = nn.Embedding(v, d)
        self.layers = nn.ModuleList(
            LlamaLayer(config) for _ in range(config["num_hidden_layers"]))
        self.norm = nn.RMSNorm(d, config["rms_norm_eps"])
        self.head = nn.Linear(d, v, bias=False)
        if config["tie_word_embeddings"]:
            self.head.weight = self.embed.weight
        angles = torch.outer(torch.arange(s).double(), frequencies(config))
        angles = torch.cat([angles, angles], -1)
        self.register_buffer("cos", angles.cos().float(), persistent=False)
        self.register_buffer("sin", angles.sin().float(), persistent=False)

    def forward(self, tokens, targets):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        return cross_entropy(self.head(self.norm(x)), targets)

    def exported(self):
        named = {f"model.layers.{i}.{name}": tensor
                 for i, layer in enumerate(self.layers)
                 for name, tensor in layer.exported().items()}
        named |= {"model.embed_tokens.weight": self.embed.weight,
                  "model.norm.weight": self.norm.weight}
        if self.head.weight is not self.embed.weight:
            named["lm_head.weight"] = self.head.weight
        return named

    def decays(self, name, parameter):
        return parameter.dim() > 1

    @staticmethod
    def batch(b, s, config):
        tokens = torch.randint(config["vocab_size"], (b, s + 1))
        return dict(tokens=tokens[:, :-1], targets=tokens[:, 1:])

    @staticmethod
    def program(path, sizes, padded):
        config = path.with_suffix(".config.json")
        config.write_text(json.dumps(sizes["config"]))
        call(ROOT / "build/bin/tpsp-import", config, "--batch", sizes["b"],
             "--sequence", sizes["s"], "--dtype", "bf16", "-o", path)
        return []


def frequencies(config):
    """Returns a head's angles of one position, with the scaling of Llama 3."""
    k = config["head_dim"]
    plain = config["rope_theta"] ** -(torch.arange(0, k, 2).double() / k)
    scaling = config.get("rope_scaling")
    if not scaling:
        return plain
    turns = scaling["original_max_position_embeddings"] * plain / (2 * math.pi)
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    kept = ((turns - low) / (high - low)).clamp(0, 1)
    return plain * (kept + (1 - kept) / scaling["factor"])


class Mixtral(Llama):
    SIZES = dict(b=4, s=2048, config=dict(
        architectures=["MixtralForCausalLM"], hidden_size=1024,
        intermediate_size=3584, num_hidden_layers=8, num_attention_heads=16,
        num_key_value_heads=8, head_dim=64, vocab_size=32000, rms_norm_eps=1e-5,
        tie_word_embeddings=False, rope_theta=1e6, num_local_experts=8,
        num_experts_per_tok=2))
    TINY = dict(b=2, s=32, config=SIZES["config"] | dict(
        hidden_size=64, intermediate_size=96, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=16, vocab_size=250,
        num_local_experts=4))


MODELS = {"gpt2": Gpt2, "llama-1b": Llama, "vit-l": Vit, "mixtral": Mixtral}


def sizes_of(model, options):
    return model.TINY if options.tiny else model.SIZES


@torch.no_grad()
def fill(module):
    """Makes the parameters random, much as tpsp does."""
    torch.manual_seed(1)
    for name, parameter in module.named_parameters():
        if parameter.dim() > 1:
            parameter.normal_(0, parameter.shape[-1] ** -0.5)
        else:
            gain = re.search(r"(norm|ln)_?\w*\.weight", name)
            parameter.normal_(1 if gain else 0, 0.02)


def batch_of(model, sizes):
    torch.manual_seed(2)
    return model.batch(**sizes)


def adamw(module, leaves, fused):
    """Returns an optimizer of leaves, which stand for the module's parameters."""
    groups = {True: [], False: []}
    for (name, parameter), leaf in zip(module.named_parameters(), leaves):
        groups[module.decays(name, parameter)].append(leaf)
    return torch.optim.AdamW(
        [dict(params=leaves, weight_decay=DECAY if decays else 0.0)
         for decays, leaves in groups.items()], lr=RATE, fused=fused, **ADAMW)


class Peer:
    """A model in PyTorch. It has memory in its turns only."""

    def __init__(self, model, variant, options):
        sizes = sizes_of(model, options)
        form, self.precision = variant.split("-")
        self.device, self.sdpa = options.device, options.sdpa
        self.batch = batch_of(model, sizes).values()
        with torch.device(self.device):
            self.module = model(padded=True, **sizes)
        self.parameters = list(self.module.parameters())
        for parameter in self.parameters:
            if self.precision == "bf16":
                parameter.data = parameter.data.bfloat16()
            parameter.untyped_storage().resize_(0)
        self.function = self.module
        if form == "compile":
            self.function = torch.compile(self.module, mode=options.mode,
                                          dynamic=False)

    def steps(self, count, warm_up=WARM_UP):
        """Returns the seconds of each step."""
        with self.turn():
            times = [timed(self.device, self.step) for _ in range(warm_up + count)]
        return times[warm_up:]

    @contextlib.contextmanager
    def turn(self):
        try:
            for parameter in self.parameters:
                parameter.untyped_storage().resize_(parameter.nbytes)
            fill(self.module)
            self.data = [tensor.to(self.device) for tensor in self.batch]
            self.masters = self.parameters
            if self.precision == "bf16":
                self.data = [tensor.bfloat16() if tensor.is_floating_point() else tensor
                             for tensor in self.data]
                self.masters = [p.detach().float() for p in self.parameters]
                for master in self.masters:
                    master.grad = torch.empty_like(master)
            self.optimizer = adamw(self.module, self.masters, fused=True)
            if self.device == "cuda":
                torch.cuda.reset_peak_memory_stats()
            with (sdpa_kernel(CUDNN_FIRST, set_priority=True)
                  if self.sdpa == "cudnn" else contextlib.nullcontext()):
                yield
        finally:
            if self.device == "cuda":
                self.memory = torch.cuda.max_memory_allocated()
            self.optimizer = self.masters = self.data = None
            self.module.zero_grad()
            for parameter in self.parameters:
                parameter.untyped_storage().resize_(0)

    def step(self):
        with torch.autocast(self.device, torch.bfloat16,
                            enabled=self.precision == "autocast"):
            loss = self.function(*self.data)
        loss.backward()
        if self.precision == "bf16":
            torch._foreach_copy_([m.grad for m in self.masters],
                                 [p.grad for p in self.parameters])
            self.module.zero_grad()
        nn.utils.clip_grad_norm_(self.masters, CLIP, foreach=True)
        self.optimizer.step()
        if self.precision == "bf16":
            with torch.no_grad():
                torch._foreach_copy_(self.parameters, self.masters)
        self.module.zero_grad()

    def kernels(self):
        """Returns [seconds, count, name] of the kernels of a step."""
        activity = torch.profiler.ProfilerActivity
        with self.turn():
            for _ in range(WARM_UP):
                timed(self.device, self.step)
            with torch.profiler.profile(
                    activities=[activity.CPU, activity.CUDA]) as profiler:
                timed(self.device, self.step)
        spans = [(event.name, 1e-6 * event.device_time_total)
                 for event in profiler.events()
                 if event.device_type == torch.autograd.DeviceType.CUDA
                 and not getattr(event, "is_user_annotation", False)]
        if self.device == "cpu":
            spans = [(event.name, 1e-6 * event.self_cpu_time_total)
                     for event in profiler.events()]
        return grouped(spans)


def grouped(spans):
    """Returns [seconds, count, name] of the names with the most time."""
    seconds, counts = Counter(), Counter()
    for name, duration in spans:
        seconds[name] += duration
        counts[name] += 1
    return [[time, counts[name], name] for name, time in seconds.most_common(KERNELS)]


class Tpsp(compare.Tpsp):
    """A compiled step."""

    def call(self, *options, **where):
        rate = self.plan.with_name("rate.safetensors")
        return super().call("--inputs", rate, *options, **where)

    def steps(self, count):
        """Returns the seconds of each step."""
        with Used(self.device) as used:
            self.last = self.report("--steps", str(WARM_UP + count))
        self.memory, self.used = self.last["memory"]["peak"], used.bytes
        return self.last["time"]["steps"][WARM_UP:]

    def kernels(self):
        """Returns [seconds, count, name] of a step's commands. Numbers of layers
        are left out of names."""
        return grouped((re.sub(r"\d+", "#", name), seconds)
                       for name, _, seconds in self.spans())


class Used:
    """The most memory of the device that anything takes beyond what is taken
    now."""

    def __init__(self, device):
        self.bytes, self.ended = None, threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.watches = device == "cuda"

    def watch(self):
        first = least = torch.cuda.mem_get_info()[0]
        while not self.ended.wait(0.02):
            least = min(least, torch.cuda.mem_get_info()[0])
            self.bytes = first - least

    def __enter__(self):
        if self.watches:
            self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        if self.watches:
            self.thread.join()


def call(*command):
    subprocess.run([str(word) for word in command], check=True)


def emit(name, options):
    """Writes a model's plan. Returns the seconds that took."""
    model = MODELS[name]
    path = options.folder / f"steps/{name}.mlir"
    flags = model.program(path, sizes_of(model, options), padded=True)
    begin = time.perf_counter()
    call(ROOT / "build/bin/tpsp-run", path, "--quiet", "--dtype", "bf16", *STEP,
         *flags, "--emit", path.with_suffix(".so"))
    return time.perf_counter() - begin


def emit_all(options):
    from safetensors.torch import save_file

    folder = options.folder / "steps"
    folder.mkdir(parents=True, exist_ok=True)
    save_file({"learning_rate": torch.tensor(RATE)}, folder / "rate.safetensors")
    for name in options.models:
        seconds = emit(name, options)
        size = (folder / f"{name}.so").stat().st_size
        print(f"{name}: {seconds:.1f} s, {size / 2**20:.1f} MiB", flush=True)


def check(name, options):
    """Compares three steps in f32 with tpsp's. Returns the losses and norms of
    both."""
    from safetensors.torch import save_file
    from torch.utils.flop_counter import FlopCounterMode

    model = MODELS[name]
    sizes = sizes_of(model, options)
    module, batch = model(padded=False, **sizes), batch_of(model, sizes)
    fill(module)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        weights, data, report = (scratch / file for file in (
            "weights.safetensors", "data.safetensors", "report.json"))
        save_file({name: tensor.detach().contiguous().clone()
                   for name, tensor in module.exported().items()}, weights)
        flags = model.program(scratch / "model.mlir", sizes, padded=False)
        inputs = batch | dict(learning_rate=torch.tensor(RATE), step=torch.tensor(1.0))
        found = []
        for steps in 1, 3:
            save_file({name: tensor.contiguous() for name, tensor in inputs.items()},
                      data)
            call(ROOT / "build/bin/tpsp-run", scratch / "model.mlir", "--quiet",
                 "--dtype", "f32", *STEP, *flags, "--steps", steps, "--weights",
                 weights, "--inputs", data, "--report", report)
            read = json.loads(report.read_text())
            found.append([read["scalars"][of] for of in ("loss", "norm")])
            # Without a file, moments are random.
            inputs |= {tensor["name"]: torch.zeros(tensor["shape"])
                       for tensor in read["tensors"] if tensor["kind"] == "state"}
    leaves = list(module.parameters())
    optimizer, wanted = adamw(module, leaves, fused=False), []
    for _ in range(3):
        with FlopCounterMode(display=False) as flops:
            loss = module(*batch.values())
            loss.backward()
        norm = nn.utils.clip_grad_norm_(leaves, CLIP)
        wanted.append([loss.item(), norm.item()])
        optimizer.step()
        optimizer.zero_grad()
    wanted = [wanted[0], wanted[2]]
    worst = max(abs(a - b) / abs(b) for ours, theirs in zip(found, wanted)
                for a, b in zip(ours, theirs))
    print(f"loss and norm of the first and third step: tpsp {found}, PyTorch "
          f"{wanted}: {worst:.1e} apart\n"
          f"FLOPs of products: tpsp {read['matmul_flops']:.4g}, PyTorch "
          f"{flops.get_total_flops():.4g}, without grouped products and with all of "
          "a causal attention", flush=True)
    if not worst < TOLERANCE:
        raise ValueError(f"{name}: {worst} is more than {TOLERANCE}")
    return dict(tpsp=found, pytorch=wanted, apart=worst)


def free(device):
    """Frees memory of the device for tpsp, which is another process."""
    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()


def measure(runners, options, failed):
    """Returns the times of all steps by runner, measured in turns. A runner that
    fails has no more turns."""
    times = {name: [] for name in runners}
    for _ in range(options.rounds):
        for name, runner in runners.items():
            if name in failed or time.monotonic() > options.end:
                continue
            free(options.device)
            try:
                times[name] += runner.steps(options.steps)
            except Exception as error:
                traceback.print_exc()
                failed[name] = str(error)[:500]
    return {name: of for name, of in times.items() if of and name not in failed}


def variants_of(options):
    every = [f"{form}-{precision}" for form in ("eager", "compile")
             for precision in ("autocast", "bf16")]
    return [variant for variant in every
            if any(variant.startswith(word) for word in options.variants)]


@contextlib.contextmanager
def alone(runners, options):
    """Compiles all runners, then waits until no other process measures."""
    if not options.lock:
        yield
        return
    for name, runner in runners.items():
        if name.startswith("compile"):
            begin = time.perf_counter()
            attempt(lambda: runner.steps(2, warm_up=0))
            free(options.device)
            print(f"{name}: {time.perf_counter() - begin:.0f} s to compile",
                  flush=True)
    with options.lock.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run(name, options):
    """Measures a model. Returns what is written of it."""
    checked = {"check": check(name, options)} if options.tiny else {}
    tpsp = Tpsp(options.folder, options.folder / f"steps/{name}.so", options.device)
    runners = {"tpsp": tpsp} | {variant: Peer(MODELS[name], variant, options)
                                for variant in variants_of(options)}
    with alone(runners, options):
        return checked | measured(name, tpsp, runners, options)


def measured(name, tpsp, runners, options):
    model, result = MODELS[name], {"failed": {}}
    times = measure(runners, options, result["failed"])
    sizes = sizes_of(model, options)
    work = sizes["b"] * (sizes["s"] if model.UNIT == "tokens" else 1)
    result["runners"] = {}
    for runner, of in times.items():
        step = statistics.median(of)
        result["runners"][runner] = dict(
            step=step, rate=work / step, times=of,
            memory=getattr(runners[runner], "memory", None))
    print_steps(result["runners"], model.UNIT, getattr(tpsp, "last", None))
    if "tpsp" in times:
        result |= described(tpsp, result["runners"])
        result["parameters"] = parameters_of(tpsp.last, model, sizes)
        print("parameters: tpsp {}, PyTorch {}".format(*result["parameters"]))
    if options.kernels:
        result["kernels"] = {}
        for runner in (*fastest(result["runners"]).values(), "tpsp"):
            if runner in times and time.monotonic() < options.end:
                free(options.device)
                result["kernels"][runner] = attempt(runners[runner].kernels)
    return result


def attempt(function):
    try:
        return function()
    except Exception as error:
        traceback.print_exc()
        return str(error)[:500]


def fastest(runners):
    """Returns the faster precision of eager and of torch.compile."""
    names = {}
    for form in "eager", "compile":
        of = [name for name in runners if name.startswith(form)]
        if of:
            names[form] = min(of, key=lambda name: runners[name]["step"])
    return names


def print_steps(runners, unit, report):
    print(f"\n| | step | {unit}/s | TFLOP/s | memory | tpsp's step is |\n"
          "| --- | --- | --- | --- | --- | --- |")
    for name, row in runners.items():
        memory = f"{row['memory'] / 2**30:.1f} GiB" if row["memory"] else ""
        rate = part = ""
        if "tpsp" in runners:
            rate = f"{1e-12 * report['matmul_flops'] / row['step']:.4g}"
            part = f"{runners['tpsp']['step'] / row['step']:.3f} of it"
        print(f"| {name} | {1e3 * row['step']:.2f} ms | {row['rate']:.4g} | {rate} "
              f"| {memory} | {part} |")


def described(tpsp, runners):
    """Returns what only tpsp says, and its step as a part of PyTorch's fastest."""
    found = {form: runners["tpsp"]["step"] / runners[name]["step"]
             for form, name in fastest(runners).items()}
    for form, name in fastest(runners).items():
        print(f"tpsp's step is {found[form]:.3f} of {name}'s")
    if tpsp.used:
        print(f"tpsp's process used {tpsp.used / 2**30:.1f} GiB of the device")
    return dict(ratio=found, used=tpsp.used, matmul_flops=tpsp.last["matmul_flops"],
                plan_memory=tpsp.last["memory"], scalars=tpsp.last["scalars"],
                gpu=tpsp.last["time"].get("gpu"))


def parameters_of(report, model, sizes):
    """Returns the number of tpsp's and of PyTorch's parameters, without
    padding."""
    ours = sum(math.prod(tensor["shape"]) for tensor in report["tensors"]
               if tensor["kind"] == "parameter")
    with torch.device("meta"):
        module = model(padded=True, **sizes)
    return ours, sum(p.numel() for p in module.parameters()) - module.padding


def main():
    options = parse()
    options.end = time.monotonic() + options.deadline
    if options.emit:
        emit_all(options)
        return
    name = torch.cuda.get_device_name() if options.device == "cuda" else "CPU"
    results = dict(device=name, torch=torch.__version__, rounds=options.rounds,
                   steps=options.steps, models={})
    print(f"{name}, PyTorch {torch.__version__}, medians of {options.rounds} "
          f"rounds of {options.steps} steps, in turns")
    for model in options.models:
        if time.monotonic() > options.end:
            break
        print(f"\n## {model}", flush=True)
        try:
            results["models"][model] = run(model, options)
        except Exception as error:
            traceback.print_exc()
            results["models"][model] = dict(error=str(error)[:500])
        options.out.write_text(json.dumps(results))
        # Frees what was compiled.
        torch._dynamo.reset()


if __name__ == "__main__":
    main()
