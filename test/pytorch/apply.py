"""Checks tpsp_torch.apply: models of transformers, placed as plans say, train as they do alone.

    apply.py build/bin [--table] [MODEL...]

Four gloo processes. For each model and plan, the losses of ten steps and all gradients
equal those of the unsharded module. Plans are made by tpsp-import and tpsp-plan of the
module's own archive. The losses of losses.py are models, too, and `masks` are those of
attention. The collectives of a model's step are those of tpsp's ledger, but for the
reasons of collectives.py. --table prints these counts alone, for docs/PyTorch.md. The exit status is 77, which ctest reads as skipped, if PyTorch or
transformers is not installed.
"""

import argparse
import collections
import contextlib
import functools
import itertools
import os
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
try:
    import torch
    import torch.distributed as dist
    import torch.multiprocessing
    import transformers
except ImportError:
    print("skipped: PyTorch or transformers is not installed (pip install torch transformers)")
    sys.exit(77)

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
import collectives
import losses
import placed
import tpsp_torch
from tpsp_torch import local_operations, program
from tpsp_torch.placements import placements_of
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.experimental import implicit_replication

# AdamW magnifies rounding over the steps. A wrong term differs by far more.
STEPS, TOLERANCE = 10, 2e-4
BATCH, LENGTH, WORDS = 4, 8, 64


class Words(torch.nn.Module):
    """A language model with its loss."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, labels):
        logits = self.model(input_ids=ids).logits
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


class Images(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, pixel_values, labels):
        return torch.nn.functional.cross_entropy(self.model(pixel_values=pixel_values).logits, labels)


def llama():
    config = transformers.LlamaConfig(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, use_cache=False,
                                      num_key_value_heads=2, vocab_size=WORDS, max_position_embeddings=16, bos_token_id=None, eos_token_id=None)
    return Words(transformers.LlamaForCausalLM(config))


def gpt2():
    config = transformers.GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=WORDS, n_positions=16, attn_pdrop=0, embd_pdrop=0, resid_pdrop=0,
                                     bos_token_id=None, eos_token_id=None, use_cache=False)
    return Words(transformers.GPT2LMHeadModel(config))


def bert():
    config = transformers.BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, vocab_size=WORDS,
                                     max_position_embeddings=16, hidden_dropout_prob=0, attention_probs_dropout_prob=0)
    return Words(transformers.BertForMaskedLM(config))


def vit():
    config = transformers.ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=16, patch_size=8,
                                    num_labels=8, hidden_dropout_prob=0, attention_probs_dropout_prob=0)
    return Images(transformers.ViTForImageClassification(config))


MODELS = {"llama": llama, "gpt2": gpt2, "bert": bert, "vit": vit}
MODELS |= {name: functools.partial(losses.Words, loss) for name, loss in losses.LOSSES.items()}
MODELS |= {loss.__name__: functools.partial(losses.Words, loss) for loss, _ in losses.REFUSED}

# Plans: options of tpsp-import, or of tpsp-plan, and of apply.
PLANS = {
    "tp-sp": (["--place", "tp-sp", "--mesh", "tp=2"], {}),
    "tp-sp-fsdp": (["--place", "tp-sp-fsdp", "--mesh", "fsdp=2,tp=2"], {}),
    "ddp-tp": (["--place", "ddp-tp", "--mesh", "dp=2,tp=2"], {}),
    "fsdp": (["--place", "fsdp", "--mesh", "fsdp=4"], {}),
    "data": (["--place", "ddp-tp", "--mesh", "dp=4,tp=1"], {}),
    "zero-2": (["--place", "fsdp", "--mesh", "fsdp=4"], {"reshard_after_forward": False}),
    "planned": (["--devices", "4", "--pin", "b@dp=2", "--pin", "e@tp=2", "--seconds", "0", "--evaluations", "20"], {}),
    # tensor parallelism divides first, and fully_shard divides its shards
    "stored": (["--devices", "4", "--for", "torch", "--pin", "b@dp=2", "--pin", "e@tp=2", "--memory", "100KB", "--seconds", "0", "--evaluations", "20"],
               {}),
    "for-torch": (["--devices", "4", "--for", "torch", "--seconds", "0", "--evaluations", "20"], {}),
}
# ViT has 5 positions, which no axis divides.
CASES = {
    "llama": ["tp-sp", "tp-sp-fsdp", "stored", "ddp-tp", "fsdp", "zero-2", "planned", "for-torch"],
    "gpt2": ["tp-sp", "ddp-tp", "tp-sp-fsdp", "fsdp", "zero-2"],
    "bert": ["tp-sp", "ddp-tp", "tp-sp-fsdp", "fsdp", "zero-2"],
    "vit": ["ddp-tp", "fsdp", "zero-2"],
    **{name: ["fsdp"] for name in losses.LOSSES},
    **{loss.__name__: [] for loss, _ in losses.REFUSED},
}
CASES["shifted"] = ["fsdp", "data"]
CASES["summed"] = ["fsdp", "data"]

# What apply refuses: a change of the text of the plan, and what the message says.
REFUSED = [
    ("llama", "tp-sp", ("tp = 2 : model", "tp = 2 : stage"), "axis @tp is of stages"),
    ("llama", "tp-sp", ("i32[b, s]", "i32[b, s@tp]"), "axis @tp divides 's' of the input"),
    ("llama", "tp-sp", ("i32[b, s]", "i32[b@tp, s]"), "axis @tp divides the batch and is a model axis"),
    ("llama", "tp-sp", ("tp = 2", "tp = 4"), "axis @tp has 4 ranks in the plan, and the mesh has 2 ranks"),
    ("llama", "tp-sp", ("mlp.up_proj.weight", "mlp.up.weight"), "a parameter 'model.model.layers.0.mlp.up.weight', which the module lacks"),
    ("llama", "tp-sp", ("e = 48", "e = 96"), "'model.model.layers.0.mlp.gate_proj.weight' has the shape (48, 32), and (96, 32) in the plan"),
    ("llama", "tp-sp", ("tpsp.program", "module"), "no 'tpsp.program"),
    ("llama", "fsdp", ("[e, d@fsdp]", "[e@fsdp, d@other]"), "axis @other has 2 ranks in the plan, and the mesh has no such axis"),
    ("llama", "fsdp", ("@fsdp", "@fsdp@other"), "axis @other: fully_shard takes one axis that divides and one of copies; "
     "plan with tpsp-plan --for torch"),
    ("llama", "stored", ("@tp@dp", "@dp@tp"), "axis @dp divides 'v' of parameter 'model.model.embed_tokens.weight' first, where torch divides in the "
     "order @tp@dp"),
    ("gpt2", "tp-sp-fsdp", ('"attn.c_attn.weight": [d@fsdp, a]', '"attn.c_attn.weight": [d@fsdp, a@tp]'),
     "parameter 'model.transformer.h.0.attn.c_attn.weight' is fused"),
    *((loss.__name__, "fsdp", ("", ""), said) for loss, said in losses.REFUSED),
]

# Shapes of masks, of queries [2, 4, 6, 8]: heads and samples that all share, and those that do not.
MASKS = [(6, 6), (1, 6), (1, 6, 6), (4, 6, 6), (1, 1, 6, 6), (2, 1, 6, 6), (1, 4, 6, 6), (2, 4, 6, 6), (2, 1, 1, 6)]


def batch_of(name, step):
    if isinstance(MODELS[name], functools.partial):
        return losses.batch_of(step)
    torch.manual_seed(100 + step)
    if name == "vit":
        return torch.randn(BATCH, 3, 16, 16), torch.randint(0, 8, (BATCH,))
    labels = torch.randint(0, WORDS, (BATCH, LENGTH))
    # Samples have different numbers of labels that count.
    labels[torch.arange(LENGTH) > torch.arange(BATCH)[:, None] + step % 3] = -100
    return torch.randint(0, WORDS, (BATCH, LENGTH)), labels


def make(name):
    torch.manual_seed(0)
    return MODELS[name]()


def run(*command):
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        raise RuntimeError(f"{command}: {ran.stderr}")
    return ran.stdout


def write_plans(tools, folder, name):
    """Exports a module, and writes its plans."""
    tpsp_torch.export(make(name), batch_of(name, 0), folder / f"{name}.pt2")
    refused = [plan for other, plan, *_ in REFUSED if other == name]
    for plan in dict.fromkeys([*CASES[name], *refused]):
        options, path = PLANS[plan][0], folder / f"{name}-{plan}.mlir"
        if "--place" in options:
            run(tools / "tpsp-import", folder / f"{name}.pt2", *options, "-o", path)
        else:
            run(tools / "tpsp-import", folder / f"{name}.pt2", "-o", folder / f"{name}.mlir")
            run(tools / "tpsp-plan", folder / f"{name}.mlir", *options, "-o", path)
    for plan in CASES[name]:
        path = folder / f"{name}-{plan}.mlir"
        path.with_suffix(".dtensor").write_text(run(tools / "tpsp-opt", path, "--tpsp-explain=dtensor every-layer", "-o", os.devnull))
    for plan in CASES[name] if has_ledgers(name) else ():
        keeps = not PLANS[plan][1].get("reshard_after_forward", True)
        run(tools / "tpsp-run", folder / f"{name}-{plan}.mlir", *collectives.ledger_options(keeps), "--report", folder / f"{name}-{plan}.ledger")


def has_ledgers(name):
    """Losses have no collectives that models lack."""
    return not isinstance(MODELS[name], functools.partial)


def losses_and_gradients(name, module):
    """Trains; returns the losses of all steps, and the gradients of the first and the last."""
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-2)
    found, gradients = [], []
    for step in range(STEPS):
        loss = module(*batch_of(name, step))
        if name in losses.OUTSIDE:
            loss = losses.OUTSIDE[name](*loss)
        optimizer.zero_grad()
        loss.backward()
        found.append(loss.item())
        if step in (0, STEPS - 1):
            gradients.append({n: whole(p.grad) for n, p in module.named_parameters() if p.grad is not None})
        optimizer.step()
    return found, gradients


def whole(tensor):
    return (tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor).clone()


def compare_collectives(name, plan, folder, module, mesh):
    """Returns rows of the table of collectives. A collective more than the reasons give must be noticed."""
    path = folder / f"{name}-{plan}.mlir"
    found = collectives.issued(mesh, lambda: module(*batch_of(name, 0)).backward())
    module.zero_grad()
    rows, facts = collectives.ledger(path.with_suffix(".ledger")), collectives.Plan(path.read_text())
    lines = collectives.compare(rows, facts, found)
    for key in found:
        with contextlib.suppress(AssertionError):
            collectives.compare(rows, facts, found + collections.Counter([key]))
            raise RuntimeError(f"{name} {plan}: one more {key} is not noticed")
    return lines


def check_placements(name, plan, folder, module, mesh):
    """Parameters have the placements that tpsp lists, and all tensors of the plan's step those that placements_of gives."""
    path = folder / f"{name}-{plan}.mlir"
    axes = program.read(path.read_text()).mesh
    listed = placed.read(path.with_suffix(".dtensor").read_text())
    for tensor in listed:
        found = placed.words(placements_of(tensor.type, axes))
        assert tensor.words in (found, placed.NONE), f"{name} {plan}: {tensor} has {found}"
    axes = {axis: size for axis, size in axes.items() if size > 1}
    first = {tensor.name: tensor.type for tensor in reversed(listed)}
    for parameter, value in module.named_parameters():
        own = dict(zip(value.device_mesh.mesh_dim_names, value.placements)) if hasattr(value, "placements") else {}
        found = [own.get(axis, Replicate()) for axis in axes]
        assert placed.words(found) == placed.words(placements_of(first[parameter], axes)), f"{name} {plan}: {parameter} has {found}"


def compare(name, plan, folder, alone):
    path = folder / f"{name}-{plan}.mlir"
    axes = program.read(path.read_text()).mesh
    mesh = mesh_of(tuple(axes.items()))
    if mesh.get_coordinate() is None:
        return
    module = tpsp_torch.apply(make(name), path, mesh, whole_batch=True, **PLANS[plan][1])
    check_placements(name, plan, folder, module, mesh)
    lines = compare_collectives(name, plan, folder, module, mesh) if has_ledgers(name) else []
    found, gradients = losses_and_gradients(name, module)
    worst = max(abs(a - b) / abs(b) for a, b in zip(found, alone[0], strict=True))
    for got, wanted in zip(gradients, alone[1], strict=True):
        assert set(got) == set(wanted), sorted(set(got) ^ set(wanted))
        for n in wanted:
            # Some gradients are 0 but for rounding, as those of biases of keys.
            error = (got[n] - wanted[n]).norm() / max(wanted[n].norm(), 1e-4)
            worst = max(worst, error.item())
    assert worst <= TOLERANCE, f"{name} {plan}: {worst:.1e}"
    if dist.get_rank() == 0:
        print(f"{name:17} {plan:11} {','.join(f'{a}={n}' for a, n in axes.items()):14} loss {found[0]:.4f} to {found[-1]:.4f}, worst {worst:.0e}"
              + (f", {sum(line[2] for line in lines)} collectives for {sum(line[1] for line in lines)}" if lines else ""), flush=True)


def print_collectives(name, plan, folder):
    """Prints the table's rows of one plan."""
    path = folder / f"{name}-{plan}.mlir"
    mesh = mesh_of(tuple(program.read(path.read_text()).mesh.items()))
    if mesh.get_coordinate() is None:
        return
    module = tpsp_torch.apply(make(name), path, mesh, whole_batch=True, **PLANS[plan][1])
    lines = compare_collectives(name, plan, folder, module, mesh)
    if dist.get_rank() == 0:
        for line in lines:
            print("|", " | ".join([name, f"`{plan}`", *collectives.cells(line)]), "|", flush=True)


@functools.lru_cache(None)
def mesh_of(axes):
    sizes = [size for _, size in axes]
    count = torch.tensor(sizes).prod().item()
    return dist.DeviceMesh("cpu", torch.arange(count).reshape(sizes), mesh_dim_names=tuple(axis for axis, _ in axes))


def check_refusals(folder):
    for name, plan, (old, new), said in REFUSED:
        text = (folder / f"{name}-{plan}.mlir").read_text()
        assert old in text, (name, plan, old)
        changed = text.replace(old, new)
        has_other = "@fsdp@other" in new
        if "@other" in new:
            changed = changed.replace("fsdp = 4 : data", f"fsdp = {2 if has_other else 4} : data, other = 2 : data")
        axes = program.read(changed if has_other else text).mesh
        mesh = mesh_of(tuple(axes.items()))
        if mesh.get_coordinate() is None:
            continue
        try:
            tpsp_torch.apply(make(name), changed, mesh)
        except ValueError as error:
            assert said in str(error), f"{name} {plan}: {error}"
        else:
            raise AssertionError(f"{name} {plan}: not refused: {new}")


def check_calls(folder):
    """A call without labels returns the rank's part, and a batch that ranks cannot divide evenly is refused."""
    mesh, alone = mesh_of((("fsdp", 4),)), make("shifted")
    ids, labels, weights = batch_of("shifted", 0)
    module = tpsp_torch.apply(make("shifted"), folder / "shifted-fsdp.mlir", mesh)
    own = ids[mesh.get_local_rank() :][:1]
    assert torch.allclose(module(own), alone(own), atol=1e-6)
    module = tpsp_torch.apply(make("shifted"), folder / "shifted-fsdp.mlir", mesh, whole_batch=True)
    for arguments, said in [((ids[:3], labels[:3], weights[:3]), "has 3 samples, which 4 ranks cannot divide evenly"),
                            ((ids, labels[:, :6], weights), "dimension 1 has 6 elements, and 8 in the plan")]:
        try:
            module(*arguments)
        except tpsp_torch.PlanError as error:
            assert said in str(error), error
        else:
            raise AssertionError(f"not refused: {said}")


def check_parts(folder):
    """Ranks may have different numbers of samples, and no label that counts."""
    sizes = (2, 1, 3, 2)
    mesh = mesh_of((("fsdp", 4),))
    rank = mesh.get_local_rank()
    for name in [name for name in ("of_samples", "shifted", "summed") if name in CASES]:
        ids, labels, weights = (torch.cat(each) for each in zip(batch_of(name, 0), batch_of(name, 1), strict=True))
        labels[: sizes[0]] = -100  # No label of rank 0 counts.
        alone = make(name)
        wanted = alone(ids, labels, weights)
        wanted.backward()
        module = tpsp_torch.apply(make(name), folder / f"{name}-fsdp.mlir", mesh)
        loss = module(*(each.split(sizes)[rank] for each in (ids, labels, weights)))
        loss.backward()
        assert abs(loss.item() - wanted.item()) < 1e-5 * abs(wanted.item()), f"{name}: {loss.item()}, not {wanted.item()}"
        for (n, got), parameter in zip(module.named_parameters(), alone.parameters(), strict=True):
            error = (whole(got.grad) - parameter.grad).norm() / parameter.grad.norm()
            assert error < 1e-5, f"{name}, gradient of {n}: {error:.1e}"
    if dist.get_rank() == 0:
        print("parts of unequal sizes, without labels that count: equal", flush=True)


def check_masks():
    """Attention of divided heads, or of divided samples and heads, has the mask's own part."""
    mesh = mesh_of((("dp", 2), ("tp", 2)))
    local_operations.register()
    for shape, is_bool, places in itertools.product(MASKS, (True, False), ([Replicate(), Shard(1)], [Shard(0), Shard(1)])):
        torch.manual_seed(3)
        query, key, value, cotangent = torch.randn(4, 2, 4, 6, 8)
        mask = torch.randn(shape)
        if is_bool:
            mask = (mask > -0.5) | (torch.arange(6) == 2)
        alone = attended([query, key, value], mask, cotangent)
        with implicit_replication():
            got = attended([distribute_tensor(each, mesh, places) for each in (query, key, value)], mask,
                           distribute_tensor(cotangent, mesh, places))
        for a, b in zip(got, alone, strict=True):
            error = (whole(a) - b).norm() / b.norm()
            assert error < 1e-5, f"mask {shape} on {places}: {error:.1e}"
    if dist.get_rank() == 0:
        print(f"{len(MASKS)} shapes of masks: equal", flush=True)


def attended(tensors, mask, cotangent):
    """Returns attention and its gradients."""
    tensors = [each.detach().requires_grad_() for each in tensors]
    result = torch.nn.functional.scaled_dot_product_attention(*tensors, attn_mask=mask)
    result.backward(cotangent)
    return [result.detach(), *(each.grad for each in tensors)]


def check(folder, chosen):
    if "masks" in chosen:
        check_masks()
    check_refusals(folder)
    if "shifted" in CASES:
        check_calls(folder)
    check_parts(folder)
    for name, plans in CASES.items():
        alone = losses_and_gradients(name, make(name))
        for plan in plans:
            compare(name, plan, folder, alone)


def tabulate(folder, chosen):
    if dist.get_rank() == 0:
        print("| model | plan | collective | over | tpsp | torch | reasons |\n| --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for name, plans in CASES.items():
        for plan in plans:
            print_collectives(name, plan, folder)


def serve(rank, port, work, folder, chosen):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=4)
    try:
        work(folder, chosen)
    except Exception:
        print(f"rank {rank}: {traceback.format_exc()}", flush=True)
        os._exit(1)
    dist.destroy_process_group()


def in_processes(work, tools, chosen):
    """Writes the plans, and calls work(folder, chosen) in four processes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name in CASES:
            write_plans(tools, folder, name)
        torch.multiprocessing.start_processes(serve, (port, work, folder, chosen), nprocs=4, start_method="fork")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("tools", type=Path)
    options.add_argument("--table", action="store_true", help="only print the collectives of each plan")
    options.add_argument("--reasons", action="store_true", help="only print the reasons of differences")
    options.add_argument("models", nargs="*")
    arguments = options.parse_args()
    if arguments.reasons:
        print("| reason | |\n| --- | --- |", *(f"| {name} | {reason.text} |" for name, reason in collectives.REASONS.items()), sep="\n")
        return
    chosen = arguments.models or [*CASES, "masks"]
    for name in [name for name in CASES if name not in chosen or arguments.table and not has_ledgers(name)]:
        CASES.pop(name)
    REFUSED[:] = [each for each in REFUSED if each[0] in CASES]
    in_processes(tabulate if arguments.table else check, arguments.tools, chosen)
    if not arguments.table:
        print(f"{sum(map(len, CASES.values()))} plans of {len(CASES)} models: equal; {len(REFUSED)} refused")


if __name__ == "__main__":
    main()
