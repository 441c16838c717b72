#ifndef TPSP_DIALECT_TPSP_INTERFACES_TD
#define TPSP_DIALECT_TPSP_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Tpsp_IndexedOpInterface : OpInterface<"IndexedOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    An operation with an index structure and an adjoint. Passes know nothing
    else of it. The defaults fit an operation whose dimensions are related by
    index name alone.

    Verified for every such operation:
    - (I1) Operands and results are tensors with subscripts.
    - (I2) Every axis is one of the module's mesh.
    - (I3) Axes divide the extents that they shard. Data axes need not divide
           parameters, gradients and state: they may cut them as rows of
           elements (docs/decisions/0035).
    - (I4) An index name means one extent.
    - (I5) A result's index is carried by an operand, unless the operation may
           introduce indices.
    - (I6) A partial operand needs an operation that is linear in it.
    - (I7) Operands and results have one floating-point element type, but for
           those that hold integers, or are of another precision, by the
           operation's own word.
    - (I8) An attribute that the operation does not have is a mistake, unless
           its name has a dialect's prefix.
  }];
  let methods = [
    InterfaceMethod<"Whether, and how, it may be applied to summands.",
      "::tpsp::Linearity", "getLinearity", (ins), "",
      [{ return ::tpsp::linearityOf<ConcreteOp>(); }]>,
    InterfaceMethod<"How an index that the result lacks is combined.",
      "::tpsp::Reduction", "getReduction", (ins), "",
      [{ return ::tpsp::Reduction::Sum; }]>,
    InterfaceMethod<"Names of indices that must not be sharded.",
      "::llvm::SmallVector<::llvm::StringRef>", "getWholeIndices", (ins), "",
      [{ return {}; }]>,
    InterfaceMethod<"Whether results may carry indices that no operand has.",
      "bool", "introducesIndices", (ins), "",
      [{ return ::tpsp::holds<ConcreteOp, ::tpsp::Fact::IntroducesIndices>(); }]>,
    InterfaceMethod<[{
        Whether the result is the sum of the operands. Operands that are partial
        over the same axes are then added first and reduced once.}],
      "bool", "isSumOfOperands", (ins), "",
      [{ return ::tpsp::holds<ConcreteOp, ::tpsp::Fact::SumOfOperands>(); }]>,
    InterfaceMethod<[{
        Whether the result is the product of the operands, summed over the
        indices that it lacks. If the indices allow, that is a matmul.}],
      "bool", "isSumOfProducts", (ins), "",
      [{ return ::tpsp::holds<ConcreteOp, ::tpsp::Fact::SumOfProducts>(); }]>,
    InterfaceMethod<[{
        Whether the result has the operand's bytes, under other index names or
        as a row-major reshape.}],
      "bool", "isView", (ins), "",
      [{ return ::tpsp::holds<ConcreteOp, ::tpsp::Fact::View>(); }]>,
    InterfaceMethod<[{
        Whether each element of the result is an element of an operand. Then the
        operation may be applied before a pending maximum is taken.}],
      "bool", "selects", (ins), "", [{
        return ::tpsp::holds<ConcreteOp, ::tpsp::Fact::Selects>() ||
               $_op.isView();
      }]>,
    InterfaceMethod<[{
        The width in bits of operand `i`, or of the result if i is the number of
        operands, if it holds integers (i32 positions, i8 masks). 0, the usual
        value, for floating-point.}],
      "unsigned", "getIntegerWidth", (ins "unsigned":$i), "",
      [{ return $_op.isView() ? ::tpsp::widthOfFirst($_op) : 0; }]>,
    InterfaceMethod<[{
        Whether operands and results may have different floating-point types.}],
      "bool", "mixesPrecision", (ins), "",
      [{ return ::tpsp::holds<ConcreteOp, ::tpsp::Fact::MixesPrecision>(); }]>,
    InterfaceMethod<[{
        The bound of the integers that operand `i` may hold, which are in [0,
        bound). They are positions along an index of that extent, or how many of
        its first positions count. 0 if there is no bound.}],
      "int64_t", "getIntegerBound", (ins "unsigned":$i), "", [{ return 0; }]>,
    InterfaceMethod<[{
        Whether operands and result stay in f32 if a program's tensors are
        stored in 16 bits. A loss of 3.27 is 3.25 in bf16.}],
      "bool", "staysWide", (ins), "",
      [{ return ::tpsp::holds<ConcreteOp, ::tpsp::Fact::StaysWide>(); }]>,
    InterfaceMethod<[{
        Whether the integers of operand `i` are labels, of which a negative one
        does not count.}],
      "bool", "takesLabels", (ins "unsigned":$i), "", [{ return false; }]>,
    InterfaceMethod<[{
        Whether differentiation treats the result as a constant, whatever its
        operands are.}],
      "bool", "stopsGradient", (ins), "",
      [{ return ::tpsp::holds<ConcreteOp, ::tpsp::Fact::StopsGradient>(); }]>,
    InterfaceMethod<"The index structure, over global shapes.",
      "::tpsp::IndexStructure", "getIndexStructure", (ins), "",
      [{ return ::tpsp::structureByName($_op); }]>,
    InterfaceMethod<[{
        An index along which the result is the operand some positions earlier,
        around the end, and how many. If axes divide the index into single
        positions, each rank sends its tensor to another rank. Without an index,
        the usual value, operands and results lie where subscripts say.}],
      "::tpsp::HandOn", "getHandOn", (ins), "", [{ return {}; }]>,
    InterfaceMethod<[{
        The names of the first result's indices, in order, if the operands
        determine them. The author of a program may then leave them out. Called
        for an operation whose results have no types yet.}],
      "std::optional<::llvm::SmallVector<::llvm::StringRef>>", "inferIndices",
      (ins), "", [{ return ::tpsp::indicesKept($_op); }]>,
    InterfaceMethod<[{
        Returns the operation with the results that its adjoint reads, which the
        program may not have asked for: the operation itself, or a new one that
        has replaced it. Called for an operation that is about to be
        differentiated.}],
      "::mlir::Operation *", "withAdjointResults",
      (ins "::mlir::OpBuilder &":$builder), "",
      [{ (void)builder; return $_op; }]>,
    InterfaceMethod<[{
        Adds the vector-Jacobian product: given the gradient of the first
        result, sets `gradients[i]` for every operand i with needed[i]. The
        values are created unplaced. Fails with a diagnostic if there is no
        derivative. Other results have no gradient. Constants and integers set
        no gradient.}],
      "::mlir::LogicalResult", "buildAdjoint",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$resultGradient,
           "::llvm::ArrayRef<bool>":$needed,
           "::llvm::MutableArrayRef<::mlir::Value>":$gradients), "",
      [{
        (void)builder; (void)resultGradient; (void)needed; (void)gradients;
        return ::mlir::success();
      }]>,
    InterfaceMethod<[{
        Tells the operation that it now computes a part of its former result.
        Its `index` was (blocks, parts, rows), and the operation now has the
        rows of `part` in every block. `part` is `everyMicroBatch` if it is
        known only when the operation runs. An operation that computes with positions
        along the index accounts for that, or fails with a diagnostic.}],
      "::mlir::LogicalResult", "restrictPositions",
      (ins "::llvm::StringRef":$index, "int64_t":$blocks, "int64_t":$parts,
           "int64_t":$part), "",
      [{
        (void)blocks; (void)parts; (void)part;
        return ::tpsp::refusePositions($_op, index);
      }]>
  ];
  let verify = [{ return ::tpsp::verifyIndexedOp($_op); }];
}

def Tpsp_DecomposableOpInterface : OpInterface<"DecomposableOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    A composite: an operation that stands for a few simpler ones.
  }];
  let methods = [
    InterfaceMethod<[{
        Whether the parts are better placed and differentiated one by one
        (attention). The composite is then decomposed before propagation. Others
        keep their index structure until shapes are local.}],
      "bool", "decomposesEarly", (ins), "",
      [{ return ::tpsp::holds<ConcreteOp, ::tpsp::Fact::DecomposesEarly>(); }]>,
    InterfaceMethod<[{
        Whether the parts only reduce over the indices that the composite needs
        whole (the row of a norm or softmax), or hand on the ends of blocks (a
        scan). Then an axis may divide a row: the composite is decomposed, and
        only statistics or ends are sent.}],
      "bool", "reducesRows", (ins), "",
      [{ return ::tpsp::holds<ConcreteOp, ::tpsp::Fact::ReducesRows>(); }]>,
    InterfaceMethod<[{
        Whether it has a kernel of its own, so that it is decomposed only if an
        axis divides a row. Its parts may then be operations of its own kind.}],
      "bool", "hasOwnKernel", (ins), "",
      [{ return ::tpsp::holds<ConcreteOp, ::tpsp::Fact::HasOwnKernel>(); }]>,
    InterfaceMethod<[{
        Builds the parts. Returns the value that replaces the composite's only
        result, of the result's type.}],
      "::mlir::Value", "decompose", (ins "::mlir::OpBuilder &":$builder)>,
    InterfaceMethod<[{
        Whether each shard of an index may need only a few positions of other
        shards, though the operation needs the index whole (a window).}],
      "bool", "mayReadNeighbours", (ins), "", [{ return false; }]>,
    InterfaceMethod<[{
        Whether that is so with the operands placed as they are, and fewer
        positions are sent than if the index is gathered.}],
      "bool", "readsNeighbours", (ins), "", [{ return false; }]>,
    InterfaceMethod<[{
        Builds the operation within shards, to which others hand on the
        positions that they need. Returns the value that replaces the only
        result, of the result's type. Called if readsNeighbours().}],
      "::mlir::Value", "decomposeIntoShards",
      (ins "::mlir::OpBuilder &":$builder), "",
      [{ (void)builder; return {}; }]>
  ];
}

def Tpsp_LoopOpInterface : OpInterface<"LoopOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    An operation that is a loop nest over its indices. At every point a scalar
    is computed from the operands' elements. Over indices that the result lacks,
    the operation's reduction combines the scalars. Kernels are made of these
    operations.
  }];
  let methods = [
    InterfaceMethod<[{
        Emits the scalar. `operands` are f32 (f64 for f64 tensors), one per
        operand. `position` returns the global position along the index of a
        given name, as a value of type index.}],
      "::mlir::Value", "emitScalar",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands,
           "::llvm::function_ref<::mlir::Value(::llvm::StringRef)>":$position)>,
    InterfaceMethod<[{
        The scalar as a formula of the operands' elements, if libraries have it,
        too.}],
      "::tpsp::ScalarFormula", "getScalarFormula", (ins), "",
      [{ return {}; }]>,
    InterfaceMethod<[{
        Names of the indices whose global position emitScalar asks for.}],
      "::llvm::SmallVector<::llvm::StringRef>", "getPositionIndices", (ins), "",
      [{ return {}; }]>,
    InterfaceMethod<[{
        The tile of a longer index at which the operands lie along a position
        index. Null if they lie where the subscripts say.}],
      "::tpsp::TileAttr", "getTileOf", (ins "::llvm::StringRef":$index), "",
      [{ (void)index; return {}; }]>
  ];
}

def Tpsp_SweptOpInterface : OpInterface<"SweptOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    An operation that needs one index whole but can process it block by block,
    in any order. It keeps a state of the size of a row: attention, with a
    running softmax. On local shapes, `tpsp-sweep` calls `sweepBlock` for each
    block, then `finishSweep`.

    A state is a list of values, empty before the first block. Operations that
    sweep the same blocks are swept together, so that a value that both compute
    for a block is computed once (CSE).
  }];
  let methods = [
    InterfaceMethod<"The index that comes in blocks.",
      "::llvm::StringRef", "getSweptIndex">,
    InterfaceMethod<[{
        Processes one block. `operands` are the operation's own, but those that
        carry the swept index are cut to the block that `tile` gives. Returns
        the state after the block. Also sets `parts[i]` for every result i that
        carries the index and has uses: the result's block, of its element
        type.}],
      "::llvm::SmallVector<::mlir::Value>", "sweepBlock",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands,
           "::tpsp::TileAttr":$tile, "::mlir::ValueRange":$state,
           "::llvm::MutableArrayRef<::mlir::Value>":$parts)>,
    InterfaceMethod<[{
        Returns result number `result` after all blocks. Called for results that
        have uses and do not carry the index.}],
      "::mlir::Value", "finishSweep",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$state,
           "unsigned":$result), "",
      [{ (void)builder; return state[result]; }]>
  ];
}

def Tpsp_AttentionOpInterface : OpInterface<"AttentionOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    Attention or its gradient, which a library computes in one call.
  }];
  let methods = [
    InterfaceMethod<[{
        Whether this is the gradient. Its operands are q, k, v, o, the statistic
        and the gradient of o. Its results are the gradients of q, k, v and
        perhaps the bias. Otherwise the operands are q, k and v, and the results
        o and perhaps the statistic. A bias, two tensors of segment numbers,
        lengths of keys and the step's number may follow the operands of
        both, and a sink those of attention.}],
      "bool", "isGradient", (ins), "", [{ return false; }]>,
    InterfaceMethod<[{
        The operation's tensors as heads of rows, or why no library call
        computes it. Before partition the answer covers what is known by
        then.}],
      "::tpsp::AttentionMatch", "matchHeads">,
    InterfaceMethod<[{
        The index of the queries' rows. Rows are independent. Each is computed
        from its own part of the operands that carry the index. A result without
        the index is a sum over rows.}],
      "::llvm::StringRef", "getRowIndex", (ins), "",
      [{ return $_op.getQuery(); }]>,
    InterfaceMethod<[{
        The tile of a longer index that the rows are; null if the subscripts say
        which rows these are.}],
      "::tpsp::TileAttr", "getRowTile", (ins), "",
      [{ return $_op.getTileAttr(); }]>,
    InterfaceMethod<"Sets the tile of a longer index that the rows are.",
      "void", "setRowTile", (ins "::tpsp::TileAttr":$tile), "",
      [{ $_op.setTileAttr(tile); }]>,
    InterfaceMethod<[{
        The index of shards of queries and keys; empty if there are none. The
        last key of a shard is at the position of its last query.}],
      "::llvm::StringRef", "getShardIndex", (ins), "",
      [{ return $_op.getShard().value_or(""); }]>,
    InterfaceMethod<"How scores follow from products of queries and keys.",
      "::tpsp::ScoreOptions", "getScoreOptions", (ins), "",
      [{ return ::tpsp::optionsOf<::tpsp::ScoreOptions>($_op); }]>,
    InterfaceMethod<"Whether a query sees no later key.",
      "bool", "masksLaterKeys", (ins), "", [{ return $_op.getCausal(); }]>,
    InterfaceMethod<"The bias that is added to scores; may be null.",
      "::mlir::Value", "getBias", (ins), "",
      [{ return $_op.getOptional().bias; }]>,
    InterfaceMethod<[{
        The logits that take part in the softmax of each row, besides those of
        keys; may be null.}],
      "::mlir::Value", "getSink", (ins), "",
      [{ return $_op.getOptional().sink; }]>,
    InterfaceMethod<[{
        Replaces an operation that has a sink, on one rank's shapes. An
        operation without a sink takes its place, whose results are then
        corrected element by element.}],
      "void", "takeOutSink", (ins "::mlir::OpBuilder &":$builder), "",
      [{ (void)builder; }]>,
    InterfaceMethod<[{
        The segment numbers of the queries and of the keys: two tensors, or
        none.}],
      "::mlir::ValueRange", "getSegments", (ins), "",
      [{ return $_op.getOptional().segments; }]>,
    InterfaceMethod<"The number of first keys that count; null for all.",
      "::mlir::Value", "getLengths", (ins), "",
      [{ return $_op.getOptional().lengths; }]>
  ];
}

def Tpsp_MaskingOpInterface : OpInterface<"MaskingOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    An operation that draws a mask and applies it at once, so that a later use
    of the mask draws it again: dropout.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the mask as a tensor, then its application. Returns the
        application's result, which replaces the operation's.}],
      "::mlir::Value", "separateMask", (ins "::mlir::OpBuilder &":$builder)>
  ];
}

def Tpsp_RandomOpInterface : OpInterface<"RandomOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    An operation that draws at random, by its seed, by positions and by the
    step's number, if that is its last operand.
  }];
  let methods = [
    InterfaceMethod<"Whether it draws at all.", "bool", "draws">,
    InterfaceMethod<"Makes it keep every element.", "void", "stopDrawing">,
    InterfaceMethod<[{
        Appends the step's number, a floating-point tensor without indices, as
        the last operand. Must be called at most once.}],
      "void", "addStep", (ins "::mlir::Value":$step), "",
      [{ $_op.getInputsMutable().append(step); }]>
  ];
}

def Tpsp_BlockCopyOpInterface : OpInterface<"BlockCopyOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    An operation that copies whole blocks, positions of one index. Operands and
    result have the same indices in the same order, except that a tensor of a
    single block lacks this index.
  }];
  let methods = [
    InterfaceMethod<"The name of the index.",
      "::llvm::StringRef", "getBlockIndex">,
    InterfaceMethod<"The copies: every block of the result, once.",
      "::llvm::SmallVector<::tpsp::BlockCopy>", "getBlockCopies">
  ];
}

def Tpsp_CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    A collective. Its operands' and results' subscripts differ by the change
    that its kind stands for (C1). Shapes and index names stay (C2). All tensors
    of a variadic collective move over the same axes (C3). (I2) and (I3) hold as
    for any operation.
  }];
  let methods = [
    InterfaceMethod<"The kind, a row of the collective table.",
      "::tpsp::CollectiveKind", "getCollectiveKind">,
    InterfaceMethod<"The axes' names, major to minor.",
      "::mlir::ArrayAttr", "getAxes", (ins), [{ return $_op.getAxes(); }]>,
    InterfaceMethod<"The rule that asked for it; may be null.",
      "::mlir::StringAttr", "getReasonAttr", (ins),
      [{ return $_op.getReasonAttr(); }]>,
    InterfaceMethod<"The name, for people, of what it moves; may be null.",
      "::mlir::StringAttr", "getTensorAttr", (ins),
      [{ return $_op.getTensorAttr(); }]>,
    InterfaceMethod<[{
        The numbers of the arguments whose gradients it moves, ascending; null
        if any result has another use (tpsp-note-gradients).}],
      "::mlir::DenseI64ArrayAttr", "getGradientsAttr", (ins),
      [{ return $_op.getGradientsAttr(); }]>,
    InterfaceMethod<[{
        How many ranks before it, around the group, the rank is whose tensor a
        rank receives. 0, the usual value, for a collective that changes no
        value: each rank receives what its subscripts say.}],
      "int64_t", "getShift", (ins), "", [{ return 0; }]>
  ];
  let verify = [{ return ::tpsp::verifyCollectiveOp($_op); }];
}

def Tpsp_ExchangeOpInterface : OpInterface<"ExchangeOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    A collective or a piece of one, on local shapes. Every rank of a group
    receives the tensor of one rank, whatever the subscripts say. It has one
    operand and one result, of the same type.
  }];
  let methods = [
    InterfaceMethod<"The group's axes, major to minor.",
      "::mlir::ArrayAttr", "getExchangeAxes", (ins), "",
      [{ return $_op.getAxes(); }]>,
    InterfaceMethod<[{
        For every rank of a group of this size: the rank whose tensor it
        receives.}],
      "::llvm::SmallVector<int64_t>", "getSources", (ins "int64_t":$group)>,
    InterfaceMethod<[{
        The ledger's row of the collective that this is, or is a piece of; may
        be null.}],
      "::mlir::Attribute", "getExchangeRow", (ins), "",
      [{ return $_op.getLedgerAttr(); }]>
  ];
}

#endif // TPSP_DIALECT_TPSP_INTERFACES_TD
