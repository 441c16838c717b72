#ifndef TPSP_DIALECT_PLAN_PLANOPS_TD
#define TPSP_DIALECT_PLAN_PLANOPS_TD

include "tpsp/Dialect/Plan/PlanBase.td"
include "tpsp/Dialect/Tpsp/IR/ScoreAttributes.td"

include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Plan_Op<string mnemonic, list<Trait> traits = []>
    : Op<Plan_Dialect, mnemonic, traits>;

def Plan_ProgramOp : Plan_Op<"program",
    [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator,
     NoRegionArguments]> {
  let summary = "the commands of one rank";
  let description = [{
    `axes` and `sizes` are the mesh that the program was compiled for.
    `arena_bytes` is the size of the rank's arena, set by `tpsp-allocate`.
    `saved_bytes` is how much of its forward pass a rank saves for its backward
    pass. `serial_bytes` is the arena's size before `tpsp-overlap` scheduled the
    commands. `streams` and `events` are their numbers, set by `tpsp-overlap`;
    without them all commands are on stream 0. `layout_misses` counts products
    that need a transpose copy because no matrix layout fits.

    With `micro_batches`, commands are in three segments (plan.segment): 0 runs
    once, 1 for every micro-batch, 2 once. There are others if `segments` says
    so: with counts of inputs, or with stages.

    `stage_axis` is the axis whose ranks run different segments. A dictionary of
    `segments` has the fields of PlanSegment (Abi/Plan.h). `order` has for each
    stage the segments that it issues, each with a micro-batch. `pools` are
    bytes, offset and slots of each PlanPool. `arenas` are the bytes of each
    stage's arena. `tpsp-order-segments` sets `order`, and `tpsp-allocate` sets
    `pools` and `arenas`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$axes,
                       DenseI64ArrayAttr:$sizes,
                       OptionalAttr<I64Attr>:$arena_bytes,
                       OptionalAttr<I64Attr>:$saved_bytes,
                       OptionalAttr<I64Attr>:$serial_bytes,
                       OptionalAttr<I64Attr>:$streams,
                       OptionalAttr<I64Attr>:$events,
                       OptionalAttr<I64Attr>:$layout_misses,
                       OptionalAttr<I64Attr>:$micro_batches,
                       OptionalAttr<I64Attr>:$stage_axis,
                       OptionalAttr<ArrayAttr>:$segments,
                       OptionalAttr<ArrayAttr>:$order,
                       OptionalAttr<DenseI64ArrayAttr>:$pools,
                       OptionalAttr<DenseI64ArrayAttr>:$arenas);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
}

def Plan_BufferOp : Plan_Op<"buffer"> {
  let summary = "a range of the arena";
  let description = [{
    `kind` is "input", "parameter", "state", "output", "gradient" or "choice"
    for a buffer that lasts the whole step, else "temporary". `tensor` is the
    global tensor type, with subscripts, of a buffer that lasts. `name` is for
    people and files. `number` is the number of the function's argument or
    result. `offset` is in bytes, set by `tpsp-allocate`.

    For a gradient or a state, `of` is the number of its argument; for a
    cotangent, the number of its result. `updated_by` is the number of the
    result that replaces an argument. A temporary `for_gradient` is used for
    gradients only.

    An argument of integers is in [0, `below`); `data` says which part of a
    batch of tokens it is (Abi/DataRole.h). Other arguments are drawn at random
    around `mean`, with the standard deviation `deviation`, or
    `initial_deviation` when training begins. A `master` begins as a copy of its
    parameter. A `scalar` is a number that the driver sets for each step.

    With `cut`, every micro-batch has its own part along that dimension of the
    tensor. The result's type is one part's. The parts lie one after another
    from `offset` on, and a command accesses that of its micro-batch. With
    `pool`, the offset is that of the first slot of the pool.
  }];
  let arguments = (ins Plan_BufferKindAttr:$kind, OptionalAttr<StrAttr>:$name,
                       OptionalAttr<I64Attr>:$number,
                       OptionalAttr<TypeAttr>:$tensor,
                       OptionalAttr<I64Attr>:$offset, OptionalAttr<I64Attr>:$of,
                       OptionalAttr<I64Attr>:$updated_by,
                       OptionalAttr<I64Attr>:$below,
                       OptionalAttr<StrAttr>:$data, OptionalAttr<F64Attr>:$mean,
                       OptionalAttr<F64Attr>:$deviation,
                       OptionalAttr<F64Attr>:$initial_deviation,
                       OptionalAttr<I64Attr>:$cut,
                       OptionalAttr<I64Attr>:$pool,
                       UnitAttr:$master, UnitAttr:$scalar,
                       UnitAttr:$for_gradient);
  let results = (outs AnyStaticShapeMemRef:$buffer);
  let builders = [OpBuilder<(ins "::mlir::Type":$type,
                                 "::tpsp::BufferKind":$kind)>];
  let assemblyFormat = "$kind ($name^)? attr-dict `:` type($buffer)";
}

def Plan_ViewOp : Plan_Op<"view", [Pure]> {
  let summary = "the bytes of the source, or the first of them, in another shape";
  let arguments = (ins AnyStaticShapeMemRef:$source);
  let results = (outs AnyStaticShapeMemRef:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
}

def Plan_TileOp : Plan_Op<"tile", [Pure]> {
  let summary = "one of the equal tiles of a buffer, or a part of one";
  let description = [{
    The flat source is [outer, `tiles`, `chunk`]. The tile is its part [outer,
    `number`, chunk]: runs of `chunk` elements. With `axes`, tiles are counted
    from the rank's own: the number is (own + `number`) mod `tiles`. `axes` are
    positions in the program's mesh, major to minor. Their group has as many
    ranks as there are tiles. With `parts`, each run is divided into `parts`
    equal parts, and the tile holds number `part` of each: runs of `chunk` /
    `parts` elements.

    The command on a tile gives the distance between runs, in its strides or
    pitches. The tile gives where they begin and which bytes are touched.
  }];
  let arguments = (ins AnyStaticShapeMemRef:$source, I64Attr:$tiles,
                       I64Attr:$chunk, I64Attr:$number,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$axes,
                       DefaultValuedAttr<I64Attr, "1">:$parts,
                       DefaultValuedAttr<I64Attr, "0">:$part);
  let results = (outs AnyStaticShapeMemRef:$result);
  let extraClassDeclaration = [{
    /// Elements of a run, and where the runs of tile 0 begin.
    int64_t getRun() { return getChunk() / getParts(); }
    int64_t getRunBegin() { return getPart() * getRun(); }
  }];
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
}

def Plan_CommandOpInterface : OpInterface<"CommandOpInterface"> {
  let cppNamespace = "::tpsp::plan";
  let description = [{
    A command: a runtime call and the call's integers. Its reads and writes are
    its memory effects on buffers. Its operands must be buffers of the program
    or views of them.
  }];
  let verify = [{ return ::tpsp::plan::verifyCommand($_op); }];
  let methods = [
    InterfaceMethod<"The name of the call, a line of calls.def.",
      "::llvm::StringRef", "getCall">,
    InterfaceMethod<"The call's integers (Abi/Commands.h).",
      "::std::vector<int64_t>", "encode">,
    InterfaceMethod<"The buffers, in the call's order.",
      "::llvm::SmallVector<::mlir::Value>", "getCallBuffers", (ins), "",
      [{ return ::llvm::to_vector($_op->getOperands()); }]>,
    InterfaceMethod<"The kind of work.",
      "::tpsp::CommandKind", "getCommandKind">,
    InterfaceMethod<"The kind of collective; nullopt for other commands.",
      "::std::optional<::tpsp::CollectiveKind>", "getCollectiveKind">,
    InterfaceMethod<"A collective's axes, major to minor.",
      "::llvm::ArrayRef<int64_t>", "getCollectiveAxes", (ins), "", [{
        return $_op->template getAttrOfType<::mlir::DenseI64ArrayAttr>("axes")
            .asArrayRef();
      }]>,
    InterfaceMethod<"A collective's row of the ledger; may be null.",
      "::tpsp::plan::LedgerAttr", "getLedgerRow", (ins), "", [{
        return $_op->template getAttrOfType<::tpsp::plan::LedgerAttr>("ledger");
      }]>,
    InterfaceMethod<"The command's stream.", "uint64_t", "getStream",
      (ins), [{ return $_op.getStream(); }]>,
    InterfaceMethod<"Moves the command to a stream.", "void", "setStream",
      (ins "uint64_t":$stream), [{ $_op.setStream(stream); }]>,
    InterfaceMethod<"The PlanCommand::phase (Abi/Plan.h). Without it, that of "
                    "the command before; 0 if that is none.",
      "::std::optional<int64_t>", "getPhase", (ins), "", [{
        auto phase =
            $_op->template getAttrOfType<::mlir::IntegerAttr>("plan.phase");
        if (!phase)
          return ::std::nullopt;
        return phase.getInt();
      }]>,
    InterfaceMethod<"Sets the phase.", "void", "setPhase",
      (ins "int64_t":$phase), "", [{
        ::mlir::Builder builder($_op->getContext());
        $_op->setAttr("plan.phase", builder.getI64IntegerAttr(phase));
      }]>,
    InterfaceMethod<"The PlanCommand::segment. Without it, that of the command "
                    "before; 0 if that is none.",
      "::std::optional<int64_t>", "getSegment", (ins), "", [{
        auto segment =
            $_op->template getAttrOfType<::mlir::IntegerAttr>("plan.segment");
        if (!segment)
          return ::std::nullopt;
        return segment.getInt();
      }]>,
    InterfaceMethod<"Sets the segment.", "void", "setSegment",
      (ins "int64_t":$segment), "", [{
        ::mlir::Builder builder($_op->getContext());
        $_op->setAttr("plan.segment", builder.getI64IntegerAttr(segment));
      }]>
  ];
}

/// `ledger` (collectives only) is the command's row in the report. `collective`
/// is its CollectiveKind.
class Plan_CommandOp<string mnemonic, string kind, list<Trait> traits = [],
                     list<string> overridden = [], string collective = "">
    : Plan_Op<mnemonic, traits # [
        DeclareOpInterfaceMethods<Plan_CommandOpInterface,
                                  overridden # ["getCall", "encode",
                                                "getCommandKind",
                                                "getCollectiveKind"]>]> {
  let extraClassDefinition = [{
    ::llvm::StringRef $cppClass::getCall() { return "}] # mnemonic # [{"; }
    ::tpsp::CommandKind $cppClass::getCommandKind() {
      return ::tpsp::CommandKind::}] # kind # [{;
    }
    ::std::optional<::tpsp::CollectiveKind> $cppClass::getCollectiveKind() {
      return }] # !if(!empty(collective), "::std::nullopt",
                      "::tpsp::CollectiveKind::" # collective) # [{;
    }
  }];
}
def Plan_MatmulOp : Plan_CommandOp<"matmul", "Matmul", [AttrSizedOperandSegments],
                                   ["getCallBuffers"]> {
  let summary = "c = a b, batched and strided; see Algebra/MatmulForm.h";
  let description = [{
    `sizes` is m, n, k; `leading` lda, ldb, ldc. `batch` and `accumulate` are
    loops of four numbers each: extent, and the strides in a, b and c.

    `epilogue` names steps that transform each finished sum, or that sum an
    operand. In their order they are "bias", "keep", "gelu", "slope", "sum_a",
    "sum_b", "add" (EpilogueStep in Abi/Commands.h). `reads` are the buffers of the
    steps that read one, in the order of the steps. `writes` are those of the
    steps that write one.
  }];
  let hasVerifier = 1;
  let arguments = (ins Arg<AnyStaticShapeMemRef, "", [MemRead]>:$a,
                       Arg<AnyStaticShapeMemRef, "", [MemRead]>:$b,
                       Arg<AnyStaticShapeMemRef, "", [MemWrite]>:$c,
                       Arg<Variadic<AnyStaticShapeMemRef>, "", [MemRead]>:$reads,
                       Arg<Variadic<AnyStaticShapeMemRef>, "", [MemWrite]>:$writes,
                       DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$leading,
                       UnitAttr:$transpose_a, UnitAttr:$transpose_b,
                       DenseI64ArrayAttr:$batch, DenseI64ArrayAttr:$accumulate,
                       DefaultValuedAttr<I64Attr, "0">:$stream,
                       OptionalAttr<StrArrayAttr>:$epilogue);
  let assemblyFormat = [{
    $a `,` $b `,` $c
    (`reads` `(` $reads^ `:` type($reads) `)`)?
    (`writes` `(` $writes^ `:` type($writes) `)`)?
    attr-dict `:` type($a) `,` type($b) `,` type($c)
  }];
}

def Plan_GroupedMatmulOp
    : Plan_CommandOp<"grouped_matmul", "Matmul", [], []> {
  let summary = "c = a b, where an integer chooses the matrix of each row";
  let description = [{
    See GroupedMatmulForm (Abi/Commands.h). `first_group`, in the form of a
    kernel's positions, is the number of this rank's first matrix; 0 if absent.
  }];
  let hasVerifier = 1;
  let arguments = (ins Arg<AnyStaticShapeMemRef, "", [MemRead]>:$a,
                       Arg<AnyStaticShapeMemRef, "", [MemRead]>:$b,
                       Arg<AnyStaticShapeMemRef, "", [MemRead]>:$ids,
                       Arg<AnyStaticShapeMemRef, "", [MemWrite]>:$c,
                       DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$leading,
                       UnitAttr:$transpose_a, UnitAttr:$transpose_b,
                       DenseI64ArrayAttr:$batch,
                       DenseI64ArrayAttr:$accumulate, UnitAttr:$sums_rows, I64Attr:$groups,
                       I64Attr:$group_stride, DenseI64ArrayAttr:$id_strides,
                       DefaultValuedAttr<I64Attr, "0">:$stream,
                       OptionalAttr<DenseI64ArrayAttr>:$first_group);
  let assemblyFormat = [{
    $a `,` $b `by` $ids `to` $c attr-dict
    `:` type($a) `,` type($b) `by` type($ids) `to` type($c)
  }];
}

def Plan_KernelOp : Plan_CommandOp<"kernel", "Kernel", [AttrSizedOperandSegments],
                                   []> {
  let hasVerifier = 1;
  let summary = "a generated kernel over a grid of independent work items";
  let description = [{
    `callee` is a function of the buffers, the start of each of `positions`, and
    the range of work items. A position is [stride, shift, offset, batch stride,
    axes...], as in PartStart (Abi/Commands.h). The kernel reads each element of `updated`
    before it writes that element.
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee,
                       Arg<Variadic<AnyStaticShapeMemRef>, "", [MemRead]>:$inputs,
                       Arg<Variadic<AnyStaticShapeMemRef>, "", [MemWrite]>:$outputs,
                       Arg<Variadic<AnyStaticShapeMemRef>, "", [MemRead, MemWrite]>:$updated,
                       I64Attr:$grid, ArrayAttr:$positions,
                       DefaultValuedAttr<I64Attr, "0">:$stream);
  let assemblyFormat = [{
    $callee `(` $inputs `)` `to` `(` $outputs `)`
    (`updates` `(` $updated^ `:` type($updated) `)`)? attr-dict `:`
    functional-type($inputs, $outputs)
  }];
}

defvar Plan_AttentionAttributes = !con(
    (ins DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$strides, F64Attr:$scale),
    Tpsp_ScoreOptions,
    (ins DefaultValuedAttr<I64Attr, "0">:$stream,
         OptionalAttr<DenseI64ArrayAttr>:$bias_strides,
         OptionalAttr<DenseI64ArrayAttr>:$segment_strides,
         OptionalAttr<DenseI64ArrayAttr>:$length_strides,
         OptionalAttr<DenseI64ArrayAttr>:$query_start, UnitAttr:$last_keys));

class Plan_AttentionCallOp<string mnemonic, list<Trait> traits = []>
    : Plan_CommandOp<mnemonic, "Attention",
                     traits # [AttrSizedOperandSegments]> {
  let hasVerifier = 1;
  let description = [{
    See AttentionCommand (Abi/Commands.h). `sizes` is batch, heads, groups,
    queries, keys, features, features of values. `strides` are those of q, k, v
    and o along batch, head, group and row. `bias_strides` has one more, along
    keys, and is present if `extras` begins with a bias. `segment_strides`, of
    the queries' and the keys' numbers, is present if segment numbers come next.
    `length_strides`, along batch and head, is present if lengths of keys come
    last. `query_start`, in the form of a kernel's positions, is the causal
    mask's position of this rank's first query. If absent, that is the position
    of the first key. With `last_keys` the last key is at the position of this
    rank's last query.
  }];
}
def Plan_AttentionOp : Plan_AttentionCallOp<"attention"> {
  let summary = "attention in one call, and the statistic of its rows";
  let arguments = !con((ins Arg<AnyStaticShapeMemRef, "", [MemRead]>:$q,
                            Arg<AnyStaticShapeMemRef, "", [MemRead]>:$k,
                            Arg<AnyStaticShapeMemRef, "", [MemRead]>:$v,
                            Arg<AnyStaticShapeMemRef, "", [MemWrite]>:$o,
                            Arg<Optional<AnyStaticShapeMemRef>, "", [MemWrite]>:$statistic,
                            Arg<Variadic<AnyStaticShapeMemRef>, "", [MemRead]>:$extras),
                       Plan_AttentionAttributes);
  let assemblyFormat = [{
    $q `,` $k `,` $v `to` $o (`statistic` $statistic^ `:` type($statistic))?
    (`with` `(` $extras^ `:` type($extras) `)`)?
    attr-dict `:` type($q) `,` type($k) `,` type($v) `to` type($o)
  }];
}
def Plan_AttentionGradientOp : Plan_AttentionCallOp<"attention_gradient"> {
  let summary = "attention's gradients in one call";
  let arguments = !con((ins Arg<AnyStaticShapeMemRef, "", [MemRead]>:$q,
                            Arg<AnyStaticShapeMemRef, "", [MemRead]>:$k,
                            Arg<AnyStaticShapeMemRef, "", [MemRead]>:$v,
                            Arg<AnyStaticShapeMemRef, "", [MemRead]>:$o,
                            Arg<AnyStaticShapeMemRef, "", [MemRead]>:$statistic,
                            Arg<AnyStaticShapeMemRef, "", [MemRead]>:$go,
                            Arg<AnyStaticShapeMemRef, "", [MemWrite]>:$gq,
                            Arg<AnyStaticShapeMemRef, "", [MemWrite]>:$gk,
                            Arg<AnyStaticShapeMemRef, "", [MemWrite]>:$gv,
                            Arg<Variadic<AnyStaticShapeMemRef>, "", [MemRead]>:$extras,
                            Arg<Optional<AnyStaticShapeMemRef>, "", [MemWrite]>:$gbias),
                       Plan_AttentionAttributes);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $o `,` $statistic `,` $go `to` $gq `,` $gk `,` $gv
    (`bias` $gbias^ `:` type($gbias))?
    (`with` `(` $extras^ `:` type($extras) `)`)?
    attr-dict `:` type($q) `,` type($k) `,` type($v) `,` type($o) `,`
    type($statistic) `,` type($go) `to` type($gq) `,` type($gk) `,` type($gv)
  }];
}

def Plan_SliceOp : Plan_CommandOp<"slice", "Copy"> {
  let summary = "this rank's part of a tensor; with no axes, a copy";
  let description = [{
    `axes` are positions in the program's mesh, major to minor. `outer`, `chunk`
    and `pitch` (0: `chunk`) are those of ShardLayout (Abi/Commands.h).
  }];
  let arguments = (ins Arg<AnyStaticShapeMemRef, "", [MemRead]>:$source,
                       Arg<AnyStaticShapeMemRef, "", [MemWrite]>:$target,
                       DenseI64ArrayAttr:$axes, I64Attr:$outer, I64Attr:$chunk,
                       DefaultValuedAttr<I64Attr, "0">:$reduction,
                       OptionalAttr<Plan_LedgerAttr>:$ledger,
                       DefaultValuedAttr<I64Attr, "0">:$stream,
                       DefaultValuedAttr<I64Attr, "0">:$pitch);
  let assemblyFormat = [{
    $source `to` $target attr-dict `:` type($source) `to` type($target)
  }];
}

/// Moves data between whole tensors and the ranks' parts of them.
class Plan_ShardOp<string mnemonic, string collective>
    : Plan_CommandOp<mnemonic, "Collective", [AttrSizedOperandSegments],
                     ["getCallBuffers"], collective> {
  let description = [{
    As `plan.slice`, for one or several tensors in one transfer. `others` holds
    outer, chunk and pitch of the second tensor, of the third, and so on.
  }];
  let hasVerifier = 1;
  let arguments = (ins
      Arg<Variadic<AnyStaticShapeMemRef>, "", [MemRead]>:$sources,
      Arg<Variadic<AnyStaticShapeMemRef>, "", [MemWrite]>:$targets,
      DenseI64ArrayAttr:$axes, I64Attr:$outer, I64Attr:$chunk,
      DefaultValuedAttr<I64Attr, "0">:$reduction,
      OptionalAttr<Plan_LedgerAttr>:$ledger,
      DefaultValuedAttr<I64Attr, "0">:$stream,
      DefaultValuedAttr<I64Attr, "0">:$pitch,
      DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$others);
  let assemblyFormat = [{
    $sources `to` $targets attr-dict `:` type($sources) `to` type($targets)
  }];
  let extraClassDeclaration = [{
    /// Whether it moves one tensor; getSource() and getTarget() are then valid.
    bool isSingle() { return getSources().size() == 1; }
    ::mlir::Value getSource() { return getSources().front(); }
    ::mlir::Value getTarget() { return getTargets().front(); }
  }];
}
def Plan_AllGatherOp : Plan_ShardOp<"all_gather", "AllGather"> {
  let summary = "gathers the ranks' parts, in the order of the group";
}
def Plan_ReduceScatterOp : Plan_ShardOp<"reduce_scatter", "ReduceScatter"> {
  let summary = "combines the ranks' tensors, and keeps this rank's part";
}

def Plan_AllReduceOp
    : Plan_CommandOp<"all_reduce", "Collective", [AttrSizedOperandSegments],
                     ["getCallBuffers"], "AllReduce"> {
  let summary = "combines the ranks' copies of one or several tensors";
  let arguments = (ins
      Arg<Variadic<AnyStaticShapeMemRef>, "", [MemRead]>:$sources,
      Arg<Variadic<AnyStaticShapeMemRef>, "", [MemWrite]>:$targets,
      DenseI64ArrayAttr:$axes, DefaultValuedAttr<I64Attr, "0">:$reduction,
      OptionalAttr<Plan_LedgerAttr>:$ledger,
      DefaultValuedAttr<I64Attr, "0">:$stream);
  let assemblyFormat = [{
    `(` $sources `)` `to` `(` $targets `)` attr-dict `:`
    functional-type($sources, $targets)
  }];
}

def Plan_AllToAllOp : Plan_CommandOp<"all_to_all", "Collective", [], [],
                                     "AllToAll"> {
  let summary = "gathers one index and scatters another";
  let description = [{
    `extents` is a, gather, b, scatter, c of AllToAllCommand.
  }];
  let hasVerifier = 1;
  let arguments = (ins Arg<AnyStaticShapeMemRef, "", [MemRead]>:$source,
                       Arg<AnyStaticShapeMemRef, "", [MemWrite]>:$target,
                       DenseI64ArrayAttr:$axes, BoolAttr:$gather_first,
                       DenseI64ArrayAttr:$extents,
                       OptionalAttr<Plan_LedgerAttr>:$ledger,
                       DefaultValuedAttr<I64Attr, "0">:$stream);
  let assemblyFormat = [{
    $source `to` $target attr-dict `:` type($source) `to` type($target)
  }];
}

def Plan_PermuteOp : Plan_CommandOp<"permute", "Collective", [], [],
                                    "Permute"> {
  let summary = "ranks exchange whole buffers";
  let description = [{
    Rank r of the group of `axes` receives from rank `from`[r]. `runs` is empty
    for whole buffers. For tiles it holds the number of runs, and the pitches of
    source and target in elements.
  }];
  let arguments = (ins Arg<AnyStaticShapeMemRef, "", [MemRead]>:$source,
                       Arg<AnyStaticShapeMemRef, "", [MemWrite]>:$target,
                       DenseI64ArrayAttr:$axes, DenseI64ArrayAttr:$from,
                       OptionalAttr<Plan_LedgerAttr>:$ledger,
                       DefaultValuedAttr<I64Attr, "0">:$stream,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$runs);
  let assemblyFormat = [{
    $source `to` $target attr-dict `:` type($source) `to` type($target)
  }];
}

class Plan_EventOp<string mnemonic, string kind>
    : Plan_CommandOp<mnemonic, kind, [MemoryEffects<[MemRead, MemWrite]>]> {
  let arguments = (ins I64Attr:$event,
                       DefaultValuedAttr<I64Attr, "0">:$stream);
  let assemblyFormat = "$event attr-dict";
}
def Plan_EventRecordOp : Plan_EventOp<"event_record", "EventRecord"> {
  let summary = "an event happens when the stream's earlier commands are done";
}
def Plan_EventWaitOp : Plan_EventOp<"event_wait", "EventWait"> {
  let summary = "the stream's later commands wait for an event";
}

include "tpsp/Dialect/Plan/PlanTransferOps.td"

#endif // TPSP_DIALECT_PLAN_PLANOPS_TD
