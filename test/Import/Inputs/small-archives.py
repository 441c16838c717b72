"""Writes an archive as torch.export.save would: small-archives.py CASE FILE.

Each case is one graph of few operations that an importer may get wrong. Uses
Python's standard library only, so that PyTorch need not be there.
"""
import json
import sys
import zipfile

FLOAT, BF16, INTEGER, BOOL, COMPLEX = 7, 13, 5, 12, 10
INFINITY = float("inf")


class Tensor(str):
    """The name of a tensor."""


def meta(dtype, sizes, is_parameter=False):
    strides, step = [], 1
    for size in reversed(sizes):
        strides.insert(0, step)
        step *= max(size, 1)
    integers = lambda numbers: [{"as_int": number} for number in numbers]
    return {"dtype": dtype, "sizes": integers(sizes), "strides": integers(strides),
            "storage_offset": {"as_int": 0}, "requires_grad": is_parameter,
            "device": {"type": "cpu", "index": None}, "layout": 7}


def argument(value):
    if isinstance(value, Tensor):
        return {"as_tensor": {"name": value}}
    if isinstance(value, bool):
        return {"as_bool": value}
    if isinstance(value, int):
        return {"as_int": value}
    if isinstance(value, float):
        return {"as_float": value if abs(value) != INFINITY else
                "Infinity" if value > 0 else "-Infinity"}
    if isinstance(value, str):
        return {"as_string": value}
    if value and isinstance(value[0], Tensor):
        return {"as_tensors": [{"name": each} for each in value]}
    return {"as_ints": value}


class Graph:
    def __init__(self):
        self.tensors, self.nodes, self.inputs, self.outputs = {}, [], [], []
        self.weights, self.files = {}, {}

    def input(self, name, dtype, sizes):
        self.tensors[name] = meta(dtype, sizes)
        self.inputs.append({"user_input": {"arg": argument(Tensor(name))}})
        return Tensor(name)

    def parameter(self, name, dtype, sizes, data):
        self.tensors["p_" + name] = meta(dtype, sizes, True)
        self.inputs.append({"parameter": {"arg": {"name": "p_" + name}, "parameter_name": name}})
        self.files[name] = data
        self.weights[name] = {"path_name": name, "is_param": True, "use_pickle": False,
                              "tensor_meta": meta(dtype, sizes, True)}
        return Tensor("p_" + name)

    def op(self, target, dtype, sizes, /, **arguments):
        name = f"n{len(self.nodes)}"
        self.tensors[name] = meta(dtype, sizes)
        self.nodes.append({
            "target": "torch.ops.aten." + target, "metadata": {},
            "inputs": [{"name": key, "arg": argument(value), "kind": 1}
                       for key, value in arguments.items()],
            "outputs": [{"as_tensor": {"name": name}}]})
        return Tensor(name)

    def two(self, target, one, other, /, **arguments):
        """An operation of two results, each of a type and sizes."""
        first = self.op(target, *one, **arguments)
        second = Tensor(first + "_1")
        self.tensors[second] = meta(*other)
        self.nodes[-1]["outputs"].append({"as_tensor": {"name": second}})
        return first, second

    def output(self, name):
        self.outputs.append({"user_output": {"arg": argument(name)}})

    def save(self, path):
        model = {"graph_module": {"graph": {"nodes": self.nodes, "tensor_values": self.tensors},
                                  "signature": {"input_specs": self.inputs,
                                                "output_specs": self.outputs}},
                 "schema_version": {"major": 8, "minor": 1}}
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("archive/models/model.json", json.dumps(model))
            file.writestr("archive/data/weights/model_weights_config.json",
                          json.dumps({"config": self.weights}))
            for name, data in self.files.items():
                file.writestr("archive/data/weights/" + name, data)


def positions(g, s, dtype=INTEGER):
    """Of queries, [s, 1], and of keys, [1, s]."""
    each = g.op("arange.default", dtype, [s], end=s)
    return (g.op("unsqueeze.default", dtype, [s, 1], self=each, dim=1),
            g.op("unsqueeze.default", dtype, [1, s], self=each, dim=0))


def comparison(g, s, name):
    query, key = positions(g, s)
    return g.op(name, BOOL, [s, s], self=key, other=query)


def attention(g, mask, s):
    heads = [g.input(name, FLOAT, [2, s, 8]) for name in ("q", "k", "v")]
    return g.op("scaled_dot_product_attention.default", FLOAT, [2, s, 8], query=heads[0],
                key=heads[1], value=heads[2], attn_mask=mask)


def spelled_attention(g, mask, s):
    q, k, v = (g.input(name, FLOAT, [2, s, 8]) for name in ("q", "k", "v"))
    turned = g.op("transpose.int", FLOAT, [2, 8, s], self=k, dim0=1, dim1=2)
    scores = g.op("bmm.default", FLOAT, [2, s, s], self=q, mat2=turned)
    scores = g.op("masked_fill.Scalar", FLOAT, [2, s, s], self=scores, mask=mask, value=-INFINITY)
    scores = g.op("softmax.int", FLOAT, [2, s, s], self=scores, dim=-1)
    return g.op("bmm.default", FLOAT, [2, s, 8], self=scores, mat2=v)


def not_later(g, s):
    return g.op("bitwise_not.default", BOOL, [s, s], self=comparison(g, s, "gt.Tensor"))


def triangle(g, s):
    whole = g.op("full.default", FLOAT, [s, s], size=[s, s], fill_value=-INFINITY)
    return g.op("triu.default", FLOAT, [s, s], self=whole, diagonal=1)


def biased(g, s):
    """Where a key is seen, its distance: the mask is a bias."""
    query, key = positions(g, s)
    seen = g.op("ge.Tensor", BOOL, [s, s], self=query, other=key)
    distance = g.op("sub.Tensor", INTEGER, [s, s], self=key, other=query)
    distance = g.op("mul.Scalar", FLOAT, [s, s], self=distance, other=0.5)
    low = g.op("scalar_tensor.default", FLOAT, [], s=-INFINITY)
    return g.op("where.self", FLOAT, [s, s], condition=seen, self=distance, other=low)


def ones_where_seen(g, s):
    """1 and 0 that are added hide nothing."""
    seen = comparison(g, s, "le.Tensor")
    return g.op("_to_copy.default", FLOAT, [s, s], self=seen, dtype=7)


def pad_reflect(g):
    return g.op("pad.default", FLOAT, [2, 3, 10], self=g.input("x", FLOAT, [2, 3, 8]), pad=[1, 1],
                mode="reflect")


def pool_divisor(g):
    return g.op("avg_pool2d.default", FLOAT, [1, 2, 2, 2], self=g.input("x", FLOAT, [1, 2, 4, 4]),
                kernel_size=[2, 2], stride=[2, 2], divisor_override=1)


def softplus_threshold(g):
    return g.op("softplus.default", FLOAT, [4, 4], self=g.input("x", FLOAT, [4, 4]), beta=1,
                threshold=1)


def softplus_default(g):
    return g.op("softplus.default", FLOAT, [4, 4], self=g.input("x", FLOAT, [4, 4]), beta=1.0,
                threshold=20.0)


def labels(g, **options):
    return g.op("cross_entropy_loss.default", FLOAT, [], self=g.input("x", FLOAT, [4, 8]),
                target=g.input("y", INTEGER, [4]), **options)


def large_ids(g):
    """257 has no bfloat16."""
    table = g.parameter("w", BF16, [1000, 8], b"\0" * 16000)
    ids = g.input("ids", INTEGER, [2, 4])
    rows = g.op("embedding.default", BF16, [2, 4, 8], weight=table, indices=ids)
    mask = g.op("eq.Scalar", BOOL, [2, 4], self=ids, other=257)
    mask = g.op("unsqueeze.default", BOOL, [2, 4, 1], self=mask, dim=-1)
    return g.op("masked_fill.Scalar", BF16, [2, 4, 8], self=rows, mask=mask, value=1.0)


def bits(g):
    each = g.op("arange.default", INTEGER, [8], end=8)
    even = g.op("full.default", INTEGER, [8], size=[8], fill_value=6)
    each = g.op("bitwise_and.Tensor", INTEGER, [8], self=each, other=even)
    return g.op("mul.Tensor", FLOAT, [4, 8], self=g.input("x", FLOAT, [4, 8]), other=each)


def truth_of_numbers(g):
    both = g.op("logical_and.default", BOOL, [4, 8], self=g.input("x", FLOAT, [4, 8]),
                other=g.input("y", FLOAT, [4, 8]))
    return g.op("_to_copy.default", FLOAT, [4, 8], self=both, dtype=7)


def constant_gain(g):
    ones = g.op("ones.default", FLOAT, [8], size=[8])
    zeros = g.op("zeros.default", FLOAT, [8], size=[8])
    return g.op("layer_norm.default", FLOAT, [4, 8], input=g.input("x", FLOAT, [4, 8]),
                normalized_shape=[8], weight=ones, bias=zeros)


def sum_over_heads(g):
    """What looks like attention sums over the heads, too."""
    q, k, v = (g.input(name, FLOAT, [2, 4, 6, 8]) for name in ("q", "k", "v"))
    scores = g.op("einsum.default", FLOAT, [2, 4, 6, 6], equation="bhsk,bhtk->bhst", tensors=[q, k])
    scores = g.op("softmax.int", FLOAT, [2, 4, 6, 6], self=scores, dim=-1)
    return g.op("einsum.default", FLOAT, [2, 6, 8], equation="bhst,bhtk->bsk", tensors=[scores, v])


def with_column(g, columns, begin, end, is_of_rows=False):
    """Attention with further columns of scores, whose softmax is then cut."""
    q, k, v = (g.input(name, FLOAT, [2, 3, 6, 8]) for name in ("q", "k", "v"))
    both = 6 + columns
    scores = g.op("einsum.default", FLOAT, [2, 3, 6, 6], equation="bhsk,bhtk->bhst", tensors=[q, k])
    if is_of_rows:
        column = g.input("column", FLOAT, [2, 3, 6, columns])
    else:
        column = g.parameter("sinks", FLOAT, [3], b"\0" * 12)
        column = g.op("view.default", FLOAT, [1, 3, 1, 1], self=column, size=[1, -1, 1, 1])
        column = g.op("expand.default", FLOAT, [2, 3, 6, columns], self=column, size=[2, -1, 6, columns])
    scores = g.op("cat.default", FLOAT, [2, 3, 6, both], tensors=[scores, column], dim=-1)
    most = g.op("amax.default", FLOAT, [2, 3, 6, 1], self=scores, dim=[-1], keepdim=True)
    scores = g.op("sub.Tensor", FLOAT, [2, 3, 6, both], self=scores, other=most)
    scores = g.op("softmax.int", FLOAT, [2, 3, 6, both], self=scores, dim=-1)
    scores = g.op("slice.Tensor", FLOAT, [2, 3, 6, 6], self=scores, dim=3, start=begin, end=end)
    return g.op("einsum.default", FLOAT, [2, 3, 6, 8], equation="bhst,bhtk->bhsk", tensors=[scores, v])


def mask_of_heads(g):
    """Numbers that all keys of a row share."""
    q, k, v = (g.input(name, FLOAT, [2, 3, 6, 8]) for name in ("q", "k", "v"))
    return g.op("scaled_dot_product_attention.default", FLOAT, [2, 3, 6, 8], query=q, key=k, value=v,
                attn_mask=g.input("mask", FLOAT, [1, 3, 1, 1]))


def no_elements(g):
    return g.op("view.default", FLOAT, [4, 0], self=g.input("x", FLOAT, [0, 4]), size=[4, 0])


def empty_part(g):
    """A parameter without elements is concatenated."""
    empty = g.parameter("w", FLOAT, [2, 0], b"")
    return g.op("cat.default", FLOAT, [2, 4], tensors=[g.input("x", FLOAT, [2, 4]), empty], dim=-1)


def means_of_constants(g):
    """The means of 0 to 5 at the places 0, 1, 2, 3, 0, 1."""
    each = g.op("arange.default", INTEGER, [6], end=6)
    places = g.op("remainder.Scalar", INTEGER, [6], self=each, other=4)
    means = g.op("scatter_reduce.two", FLOAT, [4], self=g.op("zeros.default", FLOAT, [4], size=[4]), dim=0, index=places,
                 src=g.op("_to_copy.default", FLOAT, [6], self=each), reduce="mean", include_self=False)
    return g.op("mul.Tensor", FLOAT, [4], self=g.input("x", FLOAT, [4]), other=means)


def chosen_one_by_one(g):
    """Rows meet the matrices of two choices, of which each is a position of its own."""
    x, rows, twice = g.input("x", FLOAT, [6, 4]), (FLOAT, [6, 1]), (INTEGER, [12])
    opposite = g.op("neg.default", FLOAT, [6, 4], self=x)
    choices = [g.two("max.dim", rows, (INTEGER, [6, 1]), self=each, dim=-1, keepdim=True)[1] for each in (x, opposite)]
    both = g.op("cat.default", INTEGER, [6, 2], tensors=choices, dim=-1)
    keys, places = g.two("sort.default", twice, twice, self=g.op("view.default", *twice, self=both, size=[12]))
    row = g.op("floor_divide.default", *twice, self=places, other=2)
    each = g.op("index.Tensor", FLOAT, [12, 4], self=x, indices=[row])
    counts = g.op("histc.default", FLOAT, [4], self=g.op("_to_copy.default", FLOAT, [12], self=keys), bins=4, min=0, max=3)
    ends = g.op("cumsum.default", INTEGER, [4], self=counts, dim=0)
    made = g.op("_grouped_mm.default", FLOAT, [12, 3], self=each, mat2=g.parameter("w", FLOAT, [4, 4, 3], b"\0" * 192), offs=ends)
    back = g.op("index_put.default", *twice, self=g.op("empty_like.default", *twice, self=places), indices=[places],
                values=g.op("arange.default", *twice, end=12))
    return g.op("index.Tensor", FLOAT, [12, 3], self=made, indices=[back])


def class_token(g):
    """A parameter is the first position of every sample."""
    words = g.op("embedding.default", FLOAT, [4, 6, 8], weight=g.parameter("words", FLOAT, [10, 8], b"\0" * 320),
                 indices=g.input("ids", INTEGER, [4, 6]))
    token = g.op("expand.default", FLOAT, [4, 1, 8], self=g.parameter("token", FLOAT, [1, 1, 8], b"\0" * 32), size=[4, -1, -1])
    return g.op("cat.default", FLOAT, [4, 7, 8], tensors=[token, words], dim=1)


def ids_in_view(g):
    """The ids of a table that has padding are a view of the input."""
    table = g.parameter("w", FLOAT, [10, 3], b"\0" * 120)
    ids = g.op("view.default", INTEGER, [2, 4], self=g.input("ids", INTEGER, [8]), size=[2, 4])
    return g.op("embedding.default", FLOAT, [2, 4, 3], weight=table, indices=ids, padding_idx=0)


def pool_to_nothing(g):
    return g.op("adaptive_avg_pool2d.default", FLOAT, [1, 2, 0, 0],
                self=g.input("x", FLOAT, [1, 2, 4, 4]), output_size=[0, 0])


def scattered_beyond(g, sizes):
    """Constants, with indices of these sizes for a tensor of [4, 3]."""
    whole = g.op("full.default", FLOAT, [4, 3], size=[4, 3], fill_value=0.5)
    index = g.op("zeros.default", INTEGER, sizes, size=sizes)
    source = g.op("full.default", FLOAT, sizes, size=sizes, fill_value=2.0)
    made = g.op("scatter_reduce.two", FLOAT, [4, 3], self=whole, dim=0, index=index, src=source, reduce="sum")
    return g.op("mul.Tensor", FLOAT, [4, 3], self=g.input("x", FLOAT, [4, 3]), other=made)


def transform_of_nothing(g, **none):
    made = g.op("fft_fftn.default", COMPLEX, [4, 3], self=g.input("x", FLOAT, [4, 3]), **none)
    return g.op("view_as_real.default", FLOAT, [4, 3, 2], self=made)


def deep_constant(g):
    """2^60 sums, if each is evaluated anew."""
    query, key = positions(g, 300)
    each = g.op("add.Tensor", INTEGER, [300, 300], self=query, other=key)
    for _ in range(60):
        each = g.op("add.Tensor", INTEGER, [300, 300], self=each, other=each)
    return g.op("mul.Tensor", FLOAT, [300, 300], self=g.input("x", FLOAT, [300, 300]), other=each)


CASES = {
    "inverted": lambda g: attention(g, not_later(g, 512), 512),
    "hidden": lambda g: spelled_attention(g, comparison(g, 512, "gt.Tensor"), 512),
    "triangle": lambda g: attention(g, triangle(g, 8192), 8192),
    "biased": lambda g: attention(g, biased(g, 512), 512),
    "biased-small": lambda g: attention(g, biased(g, 20), 20),
    "ones": lambda g: attention(g, ones_where_seen(g, 512), 512),
    "ones-small": lambda g: attention(g, ones_where_seen(g, 20), 20),
    "sum-over-heads": sum_over_heads,
    "sinks": lambda g: with_column(g, 1, 0, -1),
    "first-column": lambda g: with_column(g, 1, 1, 7),
    "two-columns": lambda g: with_column(g, 2, 0, 6),
    "column-of-rows": lambda g: with_column(g, 1, 0, 6, is_of_rows=True),
    "mask-of-heads": mask_of_heads,
    "constant-gain": constant_gain,
    "mean-of-labels": labels,
    "sum-of-labels": lambda g: labels(g, reduction=2),
    "ignored-class": lambda g: labels(g, ignore_index=255),
    "large-ids": large_ids,
    "bits": bits,
    "truth": truth_of_numbers,
    "pad-reflect": pad_reflect,
    "pool-divisor": pool_divisor,
    "softplus-threshold": softplus_threshold,
    "softplus": softplus_default,
    "no-elements": no_elements,
    "pool-to-nothing": pool_to_nothing,
    "empty-part": empty_part,
    "means": means_of_constants,
    "chosen-one-by-one": chosen_one_by_one,
    "class-token": class_token,
    "ids-in-view": ids_in_view,
    "scattered-wide": lambda g: scattered_beyond(g, [2, 9]),
    "scattered-few": lambda g: scattered_beyond(g, [2]),
    "transform-no-dim": lambda g: transform_of_nothing(g, dim=[]),
    "transform-no-size": lambda g: transform_of_nothing(g, s=[]),
    "deep-constant": deep_constant,
}

graph = Graph()
graph.output(CASES[sys.argv[1]](graph))
graph.save(sys.argv[2])
