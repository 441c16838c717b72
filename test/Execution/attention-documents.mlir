// Packed documents: rows of several documents, whose numbers are sorted or not,
// with documents of one position, of prime lengths, and longer than a rank's shard.
// A CPU leaves out blocks of keys that no document of a block of queries has;
// results and gradients are those of the unsharded program. 1408 positions have
// eleven blocks of queries.
// REQUIRES: tpsp-run, numpy
// RUN: rm -rf %t && split-file %s %t && cd %t && python3 documents.py
// DEFINE: %{run} = tpsp-run model.mlir --grad --verify --quiet --attention fused --inputs

// RUN: %{run} document=sorted.npy --mesh cp=1,tp=1
// RUN: %{run} document=shuffled.npy --mesh cp=1,tp=1
// RUN: %{run} document=sorted.npy --mesh cp=4,tp=1 --balance-attention on
// RUN: %{run} document=shuffled.npy --mesh cp=2,tp=2
// RUN: %{run} document=far.npy --mesh cp=2,tp=1 --dtype bf16
// RUN: sed 's/, causal}/, causal, window = 150, softcap = 4.0}/' model.mlir > window.mlir
// RUN: tpsp-run window.mlir --grad --verify --quiet --attention fused --inputs document=shuffled.npy --mesh cp=2,tp=1
// RUN: sed 's/, causal}/}/' model.mlir > both.mlir
// RUN: tpsp-run both.mlir --grad --verify --quiet --attention fused --inputs document=far.npy --mesh cp=2,tp=2

//--- documents.py
import numpy as np

rows, positions = 2, 1408
random = np.random.default_rng(7)
lengths = [1, 1, 127, 769, 13, 2, 311, 1, 97, 86]
assert sum(lengths) == positions
documents = np.repeat(np.arange(len(lengths)), lengths)
sorted_rows = np.stack([documents, documents[::-1]]).astype(np.int32)
np.save("sorted.npy", sorted_rows)
# Numbers in no order, and beyond 64, of which equal remainders are no meeting.
names = random.permutation(1000)[: len(lengths)] - 500
np.save("shuffled.npy", names[sorted_rows].astype(np.int32))
# Every document in several pieces, and numbers at the ends of their range.
pieces = random.integers(0, 3, size=(rows, positions // 64))
ends = np.array([-(2**31), 0, 2**31 - 1])
np.save("far.npy", np.repeat(ends[pieces], 64, axis=1).astype(np.int32))

//--- model.mlir
tpsp.program <b = 2, s = 1408, t = s, g = 2, r = 1, k = 8> {
mesh @mesh <cp = 2 : data, tp = 2 : model>
func @attention(%q: [b, s@cp, g@tp, r, k], %k0, %v0: [b, s@cp, g@tp, k], %document: i32[b, s@cp]) -> [b, s@cp, g@tp, r, k] {
  %k = rename %k0 -> [b, t, g, k, ?]
  %v = rename %v0 -> [b, t, g, k, ?]
  %past = rename %document -> i32[b, t, ?]
  %o = attention %q, %k, %v, %document, %past {query = "s", key = "t", feature = "k", scale = 0.35, causal}
  return %o
}
}
