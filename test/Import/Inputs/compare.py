"""Compares imported models with transformers, on CPUs in f32.

    compare.py FOLDER ARCHITECTURE...     tpsp's tools must be in PATH

For every architecture transformers makes a tiny model with random parameters and
saves it. tpsp-import makes programs from its configuration, and tpsp-run runs them
on one rank and on meshes. Loss, logits and every gradient must agree to 1e-4,
relative, in the Euclidean norm. A gradient of ZERO is 0 but for rounding: it must
be below 1e-6 of the largest. transformers must load the tensors that tpsp-run
saves, with the same logits to the bit. Models of TRAINED are trained by SGD, in
part by tpsp-train and in part in torch, in either order. The losses must be those
of torch alone.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

import numpy
import torch
import transformers
from safetensors.torch import load_file

BATCH, SEQUENCE = 4, 12
TOLERANCE = 1e-4

DECODER = dict(
    hidden_size=24, intermediate_size=44, num_hidden_layers=2, num_attention_heads=8,
    num_key_value_heads=2, head_dim=6, vocab_size=52, initializer_range=0.2,
    max_position_embeddings=64, rms_norm_eps=1e-5, tie_word_embeddings=False,
    bos_token_id=None, eos_token_id=None, pad_token_id=None)
LLAMA3 = dict(rope_type="llama3", rope_theta=100.0, factor=8.0, low_freq_factor=1.0,
              high_freq_factor=4.0, original_max_position_embeddings=16)
YARN = dict(rope_type="yarn", rope_theta=100.0, factor=4.0,
            original_max_position_embeddings=16)

YARN_ALL = dict(YARN, mscale=1.0, mscale_all_dim=1.0)
MLA = {k: v for k, v in DECODER.items() if k not in ("head_dim", "num_key_value_heads")} | dict(
    num_attention_heads=4, num_key_value_heads=4, q_lora_rank=9, kv_lora_rank=8,
    qk_nope_head_dim=12, qk_rope_head_dim=6, v_head_dim=18, moe_intermediate_size=12, n_shared_experts=2)

# The class of the configuration and its arguments, by name.
MODELS = {
    "llama": ("Llama", dict(DECODER, rope_parameters=LLAMA3)),
    "llama-tied": ("Llama", dict(DECODER, tie_word_embeddings=True, attention_bias=True,
                                 mlp_bias=True, rope_parameters=YARN)),
    "mistral": ("Mistral", dict(DECODER, sliding_window=5)),
    "qwen2": ("Qwen2", {k: v for k, v in DECODER.items() if k != "head_dim"}
              | dict(hidden_size=32)),
    "qwen2-window": ("Qwen2", {k: v for k, v in DECODER.items() if k != "head_dim"}
                     | dict(hidden_size=32, sliding_window=4, use_sliding_window=True,
                            max_window_layers=1)),
    "qwen3": ("Qwen3", DECODER),
    "phi3": ("Phi3", {k: v for k, v in DECODER.items() if k != "head_dim"}
             | dict(hidden_size=32, sliding_window=7)),
    "gpt2": ("GPT2", dict(n_embd=24, n_head=4, n_layer=2, n_inner=44, n_positions=20,
                          vocab_size=52, initializer_range=0.2, bos_token_id=None,
                          eos_token_id=None)),
    "gemma2": ("Gemma2", dict(DECODER, tie_word_embeddings=True, query_pre_attn_scalar=7,
                              attn_logit_softcapping=3.0, final_logit_softcapping=2.0,
                              sliding_window=5)),
    "mixtral": ("Mixtral", dict(DECODER, num_local_experts=4, num_experts_per_tok=2)),
    "mixtral-balanced": ("Mixtral", dict(DECODER, num_hidden_layers=3, num_local_experts=6,
                                         num_experts_per_tok=2, output_router_logits=True,
                                         router_aux_loss_coef=0.7)),
    "qwen3-moe": ("Qwen3Moe", dict(DECODER, num_experts=4, num_experts_per_tok=2,
                                   moe_intermediate_size=20, mlp_only_layers=[1],
                                   norm_topk_prob=True)),
    "deepseek-v3": ("DeepseekV3", dict(MLA, n_group=3, topk_group=2, n_routed_experts=6,
                                       num_experts_per_tok=3, routed_scaling_factor=1.5,
                                       first_k_dense_replace=1, rope_parameters=YARN_ALL)),
    "deepseek-v2": ("DeepseekV2", dict(MLA, n_group=3, topk_group=2, n_routed_experts=6,
                                       topk_method="group_limited_greedy",
                                       num_experts_per_tok=3, routed_scaling_factor=1.5,
                                       first_k_dense_replace=1)),
    "deepseek-v2-lite": ("DeepseekV2", dict(MLA, q_lora_rank=None, n_routed_experts=6,
                                            num_experts_per_tok=3)),
    "qwen3-moe-plain": ("Qwen3Moe", dict(DECODER, num_experts=4, num_experts_per_tok=2,
                                         moe_intermediate_size=20,
                                         norm_topk_prob=False)),
    "qwen3-moe-balanced": ("Qwen3Moe", dict(DECODER, num_hidden_layers=4, num_experts=4,
                                            num_experts_per_tok=3, moe_intermediate_size=20,
                                            mlp_only_layers=[1], norm_topk_prob=False,
                                            output_router_logits=True, router_aux_loss_coef=0.4)),
}
TRAINED, RATE = ["llama", "gpt2", "mixtral-balanced"], 0.05
# No models with experts: rounding may change the choices of experts.
HALF = ["llama", "llama-tied", "mistral", "qwen2", "qwen3", "phi3", "gpt2", "gemma2"]
# Adding the same to every key does not change the softmax.
ZERO = r"^gpt2 .*c_attn\.bias\[24:48\]$"
PLACES = [[], ["--place", "tp", "--mesh", "tp=2"], ["--place", "tp-sp", "--mesh", "tp=4"],
          ["--place", "fsdp", "--mesh", "fsdp=2"]]
EXPERTS = [["--place", "ep", "--mesh", "ep=2"]]


def make(name, folder):
    """Returns the model, saved to a folder. No parameter is 0 or 1."""
    kind, settings = MODELS[name]
    torch.manual_seed(7)
    config = getattr(transformers, kind + "Config")(**settings)
    config._attn_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(config).float().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))
        for buffer_name, buffer in model.named_buffers():
            if "correction_bias" in buffer_name:
                buffer.normal_(0, 0.2)
    model.save_pretrained(folder)
    return model


def reference(model, tokens, targets):
    """Returns logits, loss, and gradients by name."""
    output = model(input_ids=torch.tensor(tokens, dtype=torch.long))
    logits = output.logits
    loss = torch.nn.functional.cross_entropy(
        logits.float().reshape(-1, logits.shape[-1]), torch.tensor(targets, dtype=torch.long).reshape(-1))
    if getattr(model.config, "output_router_logits", False):
        # A model with labels does the same.
        loss += model.config.router_aux_loss_coef * output.aux_loss
    model.zero_grad()
    loss.backward()
    gradients = {n: p.grad.float().numpy() for n, p in model.named_parameters() if p.grad is not None}
    return logits.detach().float().numpy(), loss.item(), gradients


def expert_matrix(gradients, name):
    """Returns the matrix of an expert, which transformers stores in one tensor
    with the others."""
    found = re.match(r"(.*)\.(?:mlp|block_sparse_moe)\.experts\.(\d+)\.(\w+)\.weight", name)
    if not found:
        return None
    prefix, number, word = found.groups()
    for middle in ("mlp.experts", "block_sparse_moe.experts"):
        both = gradients.get(f"{prefix}.{middle}.gate_up_proj")
        if both is not None:
            break
    half = both.shape[1] // 2
    if word in ("gate_proj", "w1"):
        return both[int(number), :half]
    if word in ("up_proj", "w3"):
        return both[int(number), half:]
    return gradients[f"{prefix}.{middle}.down_proj"][int(number)]


def gradient_of(gradients, name, count):
    """Returns transformers' gradient of a parameter, by its name in tpsp."""
    if "{x}" in name:
        return numpy.stack([gradient_of(gradients, name.replace("{x}", str(i)), 0)
                            for i in range(count)])
    cut = re.match(r"(.*)\[(.*)\]$", name)
    if cut:
        index = tuple(slice(*map(int, part.split(":"))) if part.strip() != ":" else slice(None)
                      for part in cut.group(2).split(","))
        return gradients[cut.group(1)][index]
    if name in gradients:
        return gradients[name]
    matrix = expert_matrix(gradients, name)
    if matrix is None:
        router = name.replace("block_sparse_moe", "mlp")
        matrix = gradients[router]
    return matrix


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(" ".join(map(str, command)) + "\n" + done.stdout + done.stderr)


def error(ours, theirs):
    return float(numpy.linalg.norm(ours - theirs) / max(numpy.linalg.norm(theirs), 1e-30))


class Worst:
    def __init__(self):
        self.value, self.what = 0.0, "nothing"

    def add(self, what, ours, theirs):
        assert ours.shape == theirs.shape, (what, ours.shape, theirs.shape)
        one = error(ours, theirs)
        if not one <= self.value:
            self.value, self.what = one, what


def import_and_run(folder, place, head, files, *flags):
    program, result = folder / "m.mlir", folder / "all.safetensors"
    run("tpsp-import", folder, "--batch", BATCH, "--sequence", SEQUENCE, "--head", head,
        "-o", program, *place)
    run("tpsp-run", program, "--quiet", "--weights", folder, "--save-all", result, *files, *flags)
    return {name: tensor.float().numpy() for name, tensor in load_file(result).items()}


def compare(name, folder):
    model = make(name, folder)
    generator = numpy.random.default_rng(3)
    vocabulary = model.config.vocab_size
    tokens, targets = (generator.integers(0, vocabulary, (BATCH, SEQUENCE), dtype=numpy.int32)
                       for _ in range(2))
    for data, file in ((tokens, "tokens"), (targets, "targets")):
        numpy.save(folder / (file + ".npy"), data)
    ids = ["--inputs", folder / "tokens.npy"]
    both = ids + ["--inputs", folder / "targets.npy"]
    logits, loss, gradients = reference(model, tokens, targets)
    has_experts = any(".experts." in n for n in gradients)
    largest = max(numpy.linalg.norm(g) for g in gradients.values())
    worst = Worst()
    for place in PLACES + (EXPERTS if has_experts else []):
        ours = import_and_run(folder, place, "loss", both, "--grad")
        where = " ".join(place[1:])
        worst.add(f"loss {where}", ours["loss"], numpy.float32(loss))
        names = [n[2:-1] for n in ours if n.startswith("g[") and n != "g[loss]"]
        assert len(names) > 10
        for parameter in names:
            found = ours[f"g[{parameter}]"]
            if re.search(ZERO, name + " " + parameter):
                assert numpy.linalg.norm(found) < 1e-6 * largest, parameter
                continue
            worst.add(f"g[{parameter}] {where}", found,
                      gradient_of(gradients, parameter, found.shape[0]))
    again = folder / "again"
    again.mkdir()
    shutil.copy(folder / "config.json", again)
    ours = import_and_run(folder, ["--place", "tp-sp", "--mesh", "tp=2"], "logits", ids,
                          "--save", again)
    worst.add("logits", ours["logits"], logits)
    back, _, _ = reference(load(again), tokens, targets)
    assert numpy.array_equal(back, logits), f"{name}: other logits after tpsp-run --save"
    assert worst.value <= TOLERANCE, f"{name}: {worst.what} differs by {worst.value:.2e}"
    print(f"{name:<16} largest error {worst.value:.1e}, {worst.what}; saved and loaded: the same")


def in_half(name, folder):
    """Checks that tpsp in bf16 is at most twice as far from f32 as torch is, in
    logits and in all gradients together."""
    tokens, targets = (numpy.load(folder / (file + ".npy")) for file in ("tokens", "targets"))
    exact, _, gradients = reference(load(folder), tokens, targets)
    rounded, _, theirs = reference(load(folder).bfloat16(), tokens, targets)
    ids = ["--inputs", folder / "tokens.npy"]
    place = ["--dtype", "bf16", "--place", "tp-sp", "--mesh", "tp=2"]
    logits = import_and_run(folder, place, "logits", ids)["logits"]
    ours = import_and_run(folder, place, "loss", ids + ["--inputs", folder / "targets.npy"],
                          "--grad")
    names = [n[2:-1] for n in ours if n.startswith("g[") and n != "g[loss]"]

    def together(of):
        return numpy.concatenate([of(n).ravel() for n in names])

    def known(gradients):
        return together(lambda n: gradient_of(gradients, n, ours[f"g[{n}]"].shape[0]))

    for what, our, their, right in (
            ("logits", logits, rounded, exact),
            ("gradients", together(lambda n: ours[f"g[{n}]"]), known(theirs), known(gradients))):
        ratio = error(our, right) / error(their, right)
        assert ratio <= 2, f"{name}: bf16 {what} are off {ratio:.2f} times what torch's are"
        print(f"{name:<16} bf16 {what}: off by {error(our, right):.1e}, torch's by "
              f"{error(their, right):.1e}")


def stepped(model, tokens, targets, steps):
    """Takes steps of SGD in torch. Returns the loss of each, and the loss after
    them."""
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    losses = []
    for _ in range(steps):
        losses.append(reference(model, tokens, targets)[1])
        optimizer.step()
    return losses + [reference(model, tokens, targets)[1]]


def ours_stepped(source, saved, stream):
    """Takes two steps of SGD by tpsp-train, on two ranks, from one folder to
    another."""
    saved.mkdir()
    shutil.copy(source / "config.json", saved)
    program = saved / "m.mlir"
    run("tpsp-import", source, "--batch", BATCH, "--sequence", SEQUENCE, "-o", program,
        "--place", "fsdp", "--mesh", "fsdp=2")
    run("tpsp-train", program, "--quiet", "--weights", source, "--data", stream,
        "--data-format", "u16", "--optimizer", "sgd", "--optimizer-settings",
        "momentum=0,decay=0", "--clip", 0, "--schedule", "constant", "--warmup", 0,
        "--lr", RATE, "--steps", 2, "--out", saved)
    shutil.copy(saved / "step-00000002" / "parameters.safetensors", saved / "model.safetensors")
    lines = (saved / "metrics.jsonl").read_text().splitlines()
    return load(saved), [json.loads(line)["loss"] for line in lines]


def load(folder):
    return transformers.AutoModelForCausalLM.from_pretrained(
        folder, attn_implementation="eager", dtype=torch.float32).eval()


def train(name, folder):
    """Checks that two steps of SGD by tpsp-train and two in torch, in either
    order, equal four in torch, by the loss of each step and after them."""
    vocabulary = load(folder).config.vocab_size
    stream = numpy.random.default_rng(5).integers(0, vocabulary, BATCH * SEQUENCE + 1)
    stream.astype(numpy.uint16).tofile(folder / "stream.bin")
    # All samples are one batch, whatever their order.
    tokens, targets = (part.reshape(BATCH, SEQUENCE) for part in (stream[:-1], stream[1:]))
    expected = stepped(load(folder), tokens, targets, 4)
    model, losses = ours_stepped(folder, folder / "trained", folder / "stream.bin")
    ours_first = losses + stepped(model, tokens, targets, 2)
    half = load(folder)
    theirs = stepped(half, tokens, targets, 2)[:2]
    half.save_pretrained(folder / "half")
    model, losses = ours_stepped(folder / "half", folder / "whole", folder / "stream.bin")
    theirs_first = theirs + losses + stepped(model, tokens, targets, 0)
    assert expected[-1] < 0.9 * expected[0], f"{name}: no step changes the loss"
    for found in (ours_first, theirs_first):
        assert len(found) == len(expected), (name, found)
        for loss, right in zip(found, expected):
            assert abs(loss - right) <= TOLERANCE * right, (name, found, expected)
    print(f"{name:<16} loss {expected[0]:.4f}, after four steps {expected[-1]:.4f}; "
          f"tpsp's two first {ours_first[-1]:.4f}, last {theirs_first[-1]:.4f}")


def main():
    root = pathlib.Path(sys.argv[1])
    shutil.rmtree(root, ignore_errors=True)
    for name in sys.argv[2:] or MODELS:
        folder = root / name
        folder.mkdir(parents=True)
        compare(name, folder)
        if name in TRAINED:
            train(name, folder)
        if name in HALF:
            in_half(name, folder)


main()
