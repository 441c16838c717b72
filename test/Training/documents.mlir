// Packed documents: a language model on rows of several documents has the loss and
// the gradients of the same documents, each in a row of its own, on dp x cp.
// REQUIRES: tpsp-run, numpy
// RUN: rm -rf %t && split-file %s %t && cd %t && python3 documents.py
// RUN: sed -e 's/BATCH/2/' -e 's/LENGTH/24/' model.mlir > packed.mlir
// RUN: sed -e 's/BATCH/8/' -e 's/LENGTH/12/' model.mlir > alone.mlir

// RUN: tpsp-run packed.mlir --grad --verify --quiet --inputs weights.safetensors --inputs packed.safetensors --save-all packed.out
// RUN: tpsp-run alone.mlir --grad --verify --quiet --mesh dp=1,cp=1 --inputs weights.safetensors --inputs alone.safetensors --save-all alone.out
// RUN: python3 compare.py packed.out alone.out
// RUN: tpsp-run packed.mlir --grad --quiet --attention fused --mesh dp=1,cp=3 --micro-batches 2 --inputs weights.safetensors --inputs packed.safetensors --save-all parts.out
// RUN: python3 compare.py parts.out alone.out
// A model that sees other documents has other numbers.
// RUN: sed -e 's/, .document, .past {/ {/' packed.mlir > sees.mlir
// RUN: tpsp-run sees.mlir --grad --quiet --inputs weights.safetensors --inputs packed.safetensors --save-all sees.out
// RUN: not python3 compare.py sees.out alone.out 2> /dev/null

// The same from a file of tokens: the first loss is that of the documents alone,
// and two meshes have one curve.
// DEFINE: %{train} = tpsp-train packed.mlir --weights weights.safetensors --data tokens.bin --separator 0 --steps 6 --lr 1e-2 --quiet
// RUN: %{train} --mesh dp=1,cp=1 --out one
// RUN: %{train} --mesh dp=2,cp=3 --out six
// RUN: python3 curves.py one six alone.out
// RUN: not tpsp-train packed.mlir --data tokens.bin --steps 1 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: tpsp-train packed.mlir --data tokens.bin --separator 30001 --steps 1 --out none 2>&1 | FileCheck %s --check-prefix=NOWHERE
// NOWHERE: --separator 30001 is not among the first {{[0-9]+}} tokens of the data, so that rows are not divided into documents
// NONE: 'document' numbers documents (documents); say which token ends one (--separator 0), or give it by name
// RUN: not tpsp-train %examples/llama-tiny.mlir --data tokens.bin --separator 0 --steps 1 2>&1 | FileCheck %s --check-prefix=UNMARKED
// UNMARKED: --separator 0 ends documents, and no argument of the program numbers them; write {tpsp.data = "documents"}
// A text that is continued is one document: its positions are those of the row.
// DEFINE: %{sample} = --weights weights.safetensors --mesh dp=1,cp=1 --sample-tokens 3,4,5,6 --sample-count 8
// RUN: tpsp-train packed.mlir %{sample} > documents.txt
// RUN: sed 's/"document_positions"/"positions"/' packed.mlir > places.mlir
// RUN: tpsp-train places.mlir %{sample} | diff documents.txt -

//--- model.mlir
tpsp.program <b = BATCH, s = LENGTH, t = s, d = 16, h = 2, k = 8, v = 32, p = 24> {
mesh @mesh <dp = 2 : data, cp = 2 : data>
func @model(%tokens: i32[b@dp, s@cp] {tpsp.data = "tokens"}, %targets: i32[b@dp, s@cp] {tpsp.data = "next_tokens"},
    %document: i32[b@dp, s@cp] {tpsp.data = "documents"}, %place: i32[b@dp, s@cp] {tpsp.data = "document_positions"},
    param %table: [v, d], param %positions: [p, d], param %wq, %wk, %wv: [h, k, d], param %wo: [d, h, k]) -> [] {
  %x0 = embedding %tokens, %table {vocabulary = "v"}
  %x1 = embedding %place, %positions {vocabulary = "p"}
  %x  = add %x0, %x1
  %q0 = einsum %wq, %x -> [b, s, h, k, ?]
  %q  = rope %q0 {position = "s", feature = "k", theta = 100}
  %k0 = einsum %wk, %x -> [b, s, h, k, ?]
  %k1 = rope %k0 {position = "s", feature = "k", theta = 100}
  %k  = rename %k1 -> [b, t, h, k, ?]
  %v0 = einsum %wv, %x -> [b, s, h, k, ?]
  %v  = rename %v0 -> [b, t, h, k, ?]
  %past = rename %document -> i32[b, t, ?]
  %o  = attention %q, %k, %v, %document, %past {query = "s", key = "t", feature = "k", scale = 0.35, causal}
  %a  = einsum %wo, %o -> [b, s, d, ?]
  %y  = add %x, %a
  %z  = einsum %table, %y -> [b, s, v, ?]
  %each = cross_entropy %z, %targets {over = "v"}
  %loss = mean %each, %targets -> []
  return %loss
}
}

//--- documents.py
import numpy as np
from safetensors.numpy import save_file

random = np.random.default_rng(11)
save_file(
    {
        name: (0.5 * random.standard_normal(shape)).astype(np.float32)
        for name, shape in {
            "table": (32, 16), "positions": (24, 16), "wq": (2, 8, 16), "wk": (2, 8, 16),
            "wv": (2, 8, 16), "wo": (16, 2, 8),
        }.items()
    },
    "weights.safetensors",
)
# Each document ends with token 0. Rows have 24 tokens, documents at most 12.
lengths = [5, 12, 7, 1, 11, 10, 2]
documents = [np.append(random.integers(1, 32, n - 1), 0) for n in lengths]
tokens = np.concatenate(documents).reshape(2, 24)
np.append(tokens.ravel(), 3).astype(np.uint16).tofile("tokens.bin")


def batch(rows, length):
    """Rows of documents with their targets; what follows a row's documents is padding."""
    arrays = {name: np.full((len(rows), length), fill, np.int32)
              for name, fill in {"tokens": 1, "targets": -100, "document": 0, "place": 0}.items()}
    for i, row in enumerate(rows):
        at = 0
        for number, document in enumerate(row):
            end = at + len(document)
            arrays["tokens"][i, at:end] = document
            arrays["targets"][i, at:end - 1] = document[1:]
            arrays["document"][i, at:end] = number
            arrays["place"][i, at:end] = np.arange(len(document))
            at = end
    return arrays


save_file(batch([documents[:3], documents[3:]], 24), "packed.safetensors")
save_file(batch([[each] for each in documents] + [[]], 12), "alone.safetensors")

//--- compare.py
import sys
import numpy as np
from safetensors.numpy import load_file

one, other = load_file(sys.argv[1]), load_file(sys.argv[2])
names = [name for name in other if name == "loss" or name.startswith("g[")]
assert len(names) == 8, names
for name in names:
    error = np.abs(one[name] - other[name]).max() / np.abs(other[name]).max()
    assert error < 1e-5, (name, error)

//--- curves.py
import json, sys
from safetensors.numpy import load_file


def losses(folder):
    return [json.loads(line)["loss"] for line in open(folder + "/metrics.jsonl")]


one, other = losses(sys.argv[1]), losses(sys.argv[2])
first = float(load_file(sys.argv[3])["loss"])
assert len(one) == len(other) == 6 and one[5] < one[0], (one, other)
assert abs(one[0] - first) < 1e-5 * first, (one[0], first)
assert all(abs(a - b) <= 1e-6 * a for a, b in zip(one, other)), (one, other)
