"""Checks tpsp_torch.record on what torch itself makes parallel: four gloo processes, a mesh of 2 x 2.

    python3 test/pytorch/record.py

Dumps of DTensor and FSDP2 are put together by the placements that they name, and equal
what one process has. Traces have every collective and send, with its kind, group,
reduction and the caller's frame. The exit status is 77, which ctest reads as skipped, if
PyTorch is not installed.
"""

import json
import socket
import sys
import tempfile
from pathlib import Path

try:
    import numpy
    import torch
    import torch.distributed as dist
    import torch.multiprocessing
except ImportError:
    print("skipped: PyTorch or numpy is not installed (pip install torch numpy)")
    sys.exit(77)

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS.parent / "python"), str(TESTS / "jax")]
import safetensors
import tpsp_torch

AXES = {"dp": 2, "tp": 2}
RATE = 0.1


def module():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 8))


def batch():
    return torch.arange(32).reshape(4, 8).sin()


def step(model, x, optimizer, dump=None):
    loss = model(x).square().mean()
    loss.backward()
    if dump:
        dump.loss(loss)
    optimizer.step()


def parallel(folder):
    """TP and FSDP2 by torch, with an optimizer that is recorded."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    mesh = init_device_mesh("cpu", tuple(AXES.values()), mesh_dim_names=tuple(AXES))
    model = module()
    parallelize_module(model, mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    fully_shard(model, mesh=mesh["dp"])
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    x = batch().chunk(2)[mesh.get_coordinate()[0]].clone().requires_grad_()
    with tpsp_torch.record(folder / "torch", model, inputs={"x": x}, optimizer=optimizer, boundaries=["0", "1"]) as dump:
        step(model, x, optimizer, dump)
        x.detach().zero_()  # an input has its value at the start of the block
    return mesh


def each_kind(folder, mesh):
    """One of each collective, by every way to call it."""
    from torch.distributed import _functional_collectives as functional
    x, group, rank = torch.ones(4), mesh.get_group("tp"), dist.get_rank()
    partner = dist.get_process_group_ranks(group)[1 - mesh.get_coordinate()[1]]
    with tpsp_torch.record(folder / "kinds", {"x": x}, AXES):
        dist.all_reduce(x, group=group)
        dist.all_reduce(x, dist.ReduceOp.MAX)
        dist.all_gather_into_tensor(torch.empty(8), x, group=group)
        dist.all_gather([torch.empty(4) for _ in range(2)], x, group=group)
        dist.reduce_scatter_tensor(torch.empty(2), x, group=group)
        dist.all_to_all_single(torch.empty(4), x, group=group)
        dist.broadcast(x, 0)
        functional.wait_tensor(functional.all_reduce(x, "sum", mesh["dp"]))
        functional.wait_tensor(functional.reduce_scatter_tensor(x, "sum", 0, mesh["dp"]))
        if rank < partner:
            dist.send(x, partner, group)
        else:
            dist.recv(x, partner, group)
        work = dist.batch_isend_irecv([dist.P2POp(dist.isend, x, partner, group), dist.P2POp(dist.irecv, torch.empty(4), partner, group)])
        for each in work:
            each.wait()


def implied(folder, mesh):
    """Collectives that operations on DTensors imply."""
    from torch.distributed.tensor import Shard, distribute_tensor
    x = distribute_tensor(torch.arange(8.0).reshape(4, 2), mesh["tp"], [Shard(0)]).requires_grad_()
    with tpsp_torch.record(folder / "implied", {"x": x}, AXES):
        (x.t() @ x).relu().sum().backward()


def refused(folder):
    """What record refuses says what it is, and a block that raises writes nothing."""
    x = torch.ones(2, requires_grad=True)
    for options, said in [({"mesh": {"tp": 3}}, "has 3 ranks"), ({}, "the mesh is not known"),
                          ({"mesh": AXES, "placements": {"y": "tp=Shard(0)"}}, "'y', which is no parameter"),
                          ({"mesh": AXES, "boundaries": ["0"]}, "needs a module")]:
        try:
            tpsp_torch.record(folder / "refused", {"x": x}, **options)
        except ValueError as error:
            assert said in str(error), error
        else:
            raise AssertionError(f"not refused: {options}")
    try:
        with tpsp_torch.record(folder / "refused", {"x": x}, AXES):
            raise KeyError("a step that fails")
    except KeyError:
        pass
    assert not (folder / "refused").exists()


def serve(rank, port, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=4)
    mesh = parallel(folder)
    each_kind(folder, mesh)
    implied(folder, mesh)
    refused(folder)
    dist.destroy_process_group()


def assembled(ranks, words, places, name):
    """Puts a tensor together by the placements that its dumps name."""
    placements = dict(each.split("=", 1) for each in words[0][f"placement:{name}"].split(","))
    parts = {tuple(place[axis] for axis in AXES): rank[name] for rank, place in zip(ranks, places)}
    # dp as FSDP2 divides it: the parts of dp within each part of tp come first.
    inner = [[parts[d, t] for d in range(2)] for t in range(2)]
    if "Shard" in placements["dp"]:
        inner = [numpy.concatenate(each, int(placements["dp"].split("(")[1][0])) for each in inner]
    else:
        inner = [each[0] for each in inner]
    if "Shard" in placements["tp"]:
        return numpy.concatenate(inner, int(placements["tp"].split("(")[1][0]))
    assert (inner[0] == inner[1]).all(), name
    return inner[0]


def check_dump(folder):
    ranks, words = [], []
    for k in range(4):
        path = folder / "torch" / f"rank{k}.safetensors"
        data = path.read_bytes()
        ranks.append(safetensors.load(path))
        words.append(json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"])
    assert words[3]["tpsp.rank"] == "3" and words[2]["tpsp.mesh"] == "dp=2,tp=2" and words[2]["tpsp.coords"] == "dp=1,tp=0", words
    places = [dict((axis, int(n)) for axis, n in (each.split("=") for each in word["tpsp.coords"].split(","))) for word in words]
    model = module()
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    x = batch().requires_grad_()
    step(model, x, optimizer)
    for place, rank in zip(places, ranks):
        numpy.testing.assert_array_equal(rank["act:x"], batch().chunk(2)[place["dp"]].numpy())
        # A rank's loss is the mean over its own samples.
        numpy.testing.assert_allclose(rank["grad:x"], 2 * x.grad.chunk(2)[place["dp"]].numpy(), rtol=1e-5, atol=1e-6)
    for name, parameter in model.named_parameters():
        for kind, wanted in (("param", before[name]), ("grad", parameter.grad), ("updated", parameter.detach())):
            found = assembled(ranks, words, places, f"{kind}:{name}")
            numpy.testing.assert_allclose(found, wanted.numpy(), rtol=1e-5, atol=1e-6, err_msg=f"{kind}:{name}")
    assert {"act:0", "act:1", "cot:0", "cot:1", "loss"} <= set(ranks[0]), sorted(ranks[0])
    assert ranks[0]["act:1"].shape == (2, 8), "the local part of a column-parallel product"


def check_trace(folder):
    trace = json.loads((folder / "kinds" / "trace1.json").read_text())
    found = [(entry["profiling_name"].split(":")[1], entry.get("reduce_op"), entry["ranks"]) for entry in trace["entries"]]
    tp, dp, world = [0, 1], [1, 3], [0, 1, 2, 3]
    wanted = [("all_reduce", "sum", tp), ("all_reduce", "max", world), ("_all_gather_base", None, tp), ("all_gather", None, tp),
              ("_reduce_scatter_base", "sum", tp), ("all_to_all", None, tp), ("broadcast", None, world), ("all_reduce", "sum", dp),
              ("_reduce_scatter_base", "sum", dp), ("recv 1<-0", None, tp), ("send 1->0", None, tp), ("recv 1<-0", None, tp)]
    assert found == wanted, found
    assert [entry["record_id"] for entry in trace["entries"]] == list(range(len(wanted)))
    first = trace["entries"][0]
    assert first["input_sizes"] == [[4]] and first["input_dtypes"] == ["Float"] and first["process_group"][1] == "mesh_tp", first
    assert trace["steps"] == 1
    assert first["frames"][0]["filename"].endswith("distributed_c10d.py"), first["frames"]
    assert any(frame["name"] == "each_kind" for frame in first["frames"]), first["frames"]
    implied = json.loads((folder / "implied" / "trace1.json").read_text())["entries"]
    assert [(entry["profiling_name"], entry["reduce_op"], entry["ranks"]) for entry in implied] == [("gloo:all_reduce", "sum", tp)], implied
    own = json.loads((folder / "torch" / "trace0.json").read_text())["entries"]
    kinds = {(entry["profiling_name"].split(":")[1], entry["phase"], len(entry["ranks"])) for entry in own}
    assert {("_all_gather_base", "forward", 2), ("all_reduce", "forward", 2), ("_reduce_scatter_base", "backward", 2)} <= kinds, kinds


def check_files(folder):
    """A file that cannot be written whole leaves the one before it."""
    from tpsp_torch.files import whole_file, write_tensors
    path = folder / "file.safetensors"
    write_tensors(path, {"x": torch.ones(3)}, {})
    before = path.read_bytes()
    for fail in (lambda: write_tensors(path, {"x": torch.ones(3, dtype=torch.complex64)}, {}), lambda: interrupted(whole_file, path)):
        try:
            fail()
        except (TypeError, KeyboardInterrupt):
            pass
        else:
            raise AssertionError("not refused")
        assert path.read_bytes() == before


def interrupted(whole_file, path):
    with whole_file(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt


def main():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        torch.multiprocessing.start_processes(serve, (port, folder), nprocs=4, start_method="fork")
        check_dump(folder)
        check_trace(folder)
        check_files(folder)
        left = [path.name for path in folder.rglob("*.tmp")]
        assert not left, left
    print("dumps and traces of four processes: right")


if __name__ == "__main__":
    main()
