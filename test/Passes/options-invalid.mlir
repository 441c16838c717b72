// An option of a pass has no location in the program. Words and numbers are
// refused by their row of the table of options, also in a pipeline. Other errors
// name the option and the pass, which the pipeline may have chosen.

// RUN: not tpsp-opt %s --tpsp-set-element-type=dtype=f99 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: for the --dtype option: no dtype is called 'f99': f64, f32, bf16 or f16
// RUN: not tpsp-opt %s --tpsp-differentiate=function=g 2>&1 | FileCheck %s --check-prefix=FUNCTION
// FUNCTION: error: option 'function' of tpsp-differentiate: no function named 'g' to differentiate
// RUN: not tpsp-opt %s --tpsp-rematerialize=rematerialize=some 2>&1 | FileCheck %s --check-prefix=MODE
// MODE: for the --rematerialize option: no rematerialize is called 'some': none, selective or full
// RUN: not tpsp-opt %s --tpsp-pipeline=rematerialize=some 2>&1 | FileCheck %s --check-prefix=WORD
// WORD: for the --rematerialize option: no rematerialize is called 'some': none, selective or full
// RUN: not tpsp-opt %s --tpsp-pipeline=attention=some 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: for the --attention option: no attention is called 'some': rows, blocks, fused or ring
// RUN: not tpsp-opt %s --tpsp-pipeline=clip=-1 2>&1 | FileCheck %s --check-prefix=CLIP
// CLIP: for the --clip option: expected a number from 0 to 1e9, not '-1'
// RUN: not tpsp-opt %s --tpsp-pipeline=micro-batches=0 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: for the --micro-batches option: expected a number above 0, not '0'
// RUN: not tpsp-opt %s --tpsp-pipeline=overlap-memory=nan 2>&1 | FileCheck %s --check-prefix=NAN
// NAN: for the --overlap-memory option: expected a number from 0 to 1e9, not 'nan'
// RUN: not tpsp-opt %s --tpsp-micro-batch=micro-batches=0 2>&1 | FileCheck %s --check-prefix=PARTS
// PARTS: for the --micro-batches option: expected a number above 0, not '0'
// RUN: not tpsp-opt %s --tpsp-micro-batch='micro-batches=2 micro-batch-index=z' 2>&1 | FileCheck %s --check-prefix=INDEX
// INDEX: error: option 'micro-batch-index' of tpsp-micro-batch: no argument has an index 'z'
// RUN: not tpsp-opt %s --tpsp-bucket-collectives=bucket-bytes=-1 2>&1 | FileCheck %s --check-prefix=BYTES
// BYTES: error: option 'bucket-bytes' of tpsp-bucket-collectives: bucket-bytes=-1 is no size of a bucket
// RUN: not tpsp-opt %s --tpsp-shard-replicated=shard-replicated=fame 2>&1 | FileCheck %s --check-prefix=GOAL
// GOAL: for the --shard-replicated option: no shard-replicated is called 'fame': off, memory or time
// RUN: not tpsp-opt %s --tpsp-shard-replicated='shard-replicated=time hardware=abacus' 2>&1 | FileCheck %s --check-prefix=SHARD
// SHARD: error: option 'hardware' of tpsp-shard-replicated: 'abacus' is no built-in hardware
// RUN: not tpsp-opt %s --tpsp-overlap=hardware=abacus 2>&1 | FileCheck %s --check-prefix=OVERLAP
// OVERLAP: error: option 'hardware' of tpsp-overlap: 'abacus' is no built-in hardware
// RUN: not tpsp-opt %s --convert-tpsp-to-plan='epilogues hardware=abacus' 2>&1 | FileCheck %s --check-prefix=FUSE
// FUSE: error: option 'hardware' of convert-tpsp-to-plan: 'abacus' is no built-in hardware
// RUN: not tpsp-opt %s --tpsp-require-overlap=require-overlap=2 2>&1 | FileCheck %s --check-prefix=SHARE
// SHARE: for the --require-overlap option: expected a number from 0 to 1, not '2'

tpsp.mesh @mesh <tp = 2>
!x = tensor<4x8xf32, #tpsp.idx<b, d@tp>>
func.func @f(%x: !x) -> !x {
  %y = tpsp.gelu %x : !x
  return %y : !x
}
