// Two layers of Llama-3.1-8B at its real size, from an archive without weights
// and from its config.json: one ledger, one memory, one prediction. The
// archive has 22 kB, whatever the extents.
// REQUIRES: tpsp-run
// RUN: rm -rf %t && mkdir %t
// DEFINE: %{sequence} = 4096
// DEFINE: %{torch} = bash -c "ulimit -t 10; tpsp-import %S/Inputs/torch/llama-8b.pt2 --extent ids.1=%{sequence} --place tp-sp --mesh tp=8 --recognised -o %t/a.mlir" 2>&1 | FileCheck %s
// DEFINE: %{config} = tpsp-import %S/Inputs/published/llama-3.1-8b.json --layers 2 --dtype bf16 --batch 2 --sequence %{sequence} --place tp-sp --mesh tp=8 -o %t/b.mlir
// DEFINE: %{ledger} = bash -c "for i in a b; do tpsp-opt %t/$i.mlir --tpsp-explain -o /dev/null | grep -E '^  (forward|backward) .* over |^  total ' | tr -s ' ' > %t/$i.txt || exit; done; diff %t/a.txt %t/b.txt && wc -l < %t/a.txt" | FileCheck %s --check-prefix=LEDGER
// DEFINE: %{step} = tpsp-run %t/a.mlir --grad --simulate --hardware h100-sxm > %t/a.step && tpsp-run %t/b.mlir --grad --simulate --hardware h100-sxm > %t/b.step && python3 %S/Inputs/check-step.py %t/a.step %t/b.step

// The module is in bf16. Its norms and rotations are single operations, as those of
// the config.json are, though PyTorch rounds within them.
// CHECK: attention: 2, with a bias: 0, rope: 4, norms: 5, losses: 1, repeated layers: 1
// LEDGER: {{^}}9{{$}}
// RUN: %{torch}
// RUN: %{config}
// RUN: %{ledger}
// RUN: %{step}
// RUN: FileCheck %s --check-prefix=TEXT --input-file %t/a.mlir
//
// Frequencies are read off the tables. The head divides the vocabulary as the
// embedding does, though both are indices of their own.
// TEXT: %x: bf16[b, s@tp, d],
// TEXT: param %q_proj "self_attn.q_proj.weight": bf16[q@tp, d],
// TEXT: rope %{{.*}} {fast_turns = 4.0, feature = "k", position = "s", slow_turns = 1.0,
// TEXT-NEXT: stretch = 8.0, theta = 500000.0, trained = 8192.0}
// TEXT: "model.model.model.embed_tokens.weight": bf16[v@tp, d],
// TEXT: "model.model.lm_head.weight": bf16[v2@tp, d]

// A longer sequence.
// REDEFINE: %{sequence} = 16384
// RUN: %{torch}
// RUN: %{config}
// RUN: %{ledger}
// RUN: %{step}
