#ifndef TPSP_DIALECT_TPSP_INTERFACES_TD
#define TPSP_DIALECT_TPSP_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Tpsp_IndexedOpInterface : OpInterface<"IndexedOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    An operation with an index structure and an adjoint: all that the passes
    know of it. The defaults fit an operation whose dimensions are related by
    index name alone.

    Verified for every such operation:
    - (I1) Operands and results are tensors with subscripts.
    - (I2) Every axis is one of the module's mesh.
    - (I3) Axes divide the extents that they shard.
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
    InterfaceMethod<"How the operation may be applied to summands.",
      "::tpsp::Linearity", "getLinearity", (ins), "",
      [{ return ::tpsp::Linearity::None; }]>,
    InterfaceMethod<"How an index that the result lacks is combined.",
      "::tpsp::Reduction", "getReduction", (ins), "",
      [{ return ::tpsp::Reduction::Sum; }]>,
    InterfaceMethod<"Names of indices that must not be sharded.",
      "::llvm::SmallVector<::llvm::StringRef>", "getWholeIndices", (ins), "",
      [{ return {}; }]>,
    InterfaceMethod<"Whether results may carry indices that no operand has.",
      "bool", "introducesIndices", (ins), "", [{ return false; }]>,
    InterfaceMethod<[{
        Whether the result is the sum of the operands: operands that are
        partial alike are then added first and reduced once.}],
      "bool", "isSumOfOperands", (ins), "", [{ return false; }]>,
    InterfaceMethod<[{
        Whether the result is the product of the operands, summed over the
        indices that it lacks: a matmul where the indices allow.}],
      "bool", "isSumOfProducts", (ins), "", [{ return false; }]>,
    InterfaceMethod<[{
        Whether the result is the operand's bytes under other names or a
        row-major reshape.}],
      "bool", "isView", (ins), "", [{ return false; }]>,
    InterfaceMethod<[{
        Whether each element of the result is an element of an operand, so that
        it may be applied to what a maximum is taken of later.}],
      "bool", "selects", (ins), "", [{ return $_op.isView(); }]>,
    InterfaceMethod<[{
        The element type of a tensor that holds integers (i32 positions, i8
        masks): of operand `i`, or of the result for i = number of operands.
        0, which is usual, for floating-point; else the width in bits.}],
      "unsigned", "getIntegerWidth", (ins "unsigned":$i), "",
      [{ return $_op.isView() ? ::tpsp::widthOfFirst($_op) : 0; }]>,
    InterfaceMethod<[{
        Whether floating-point operands and results may be of different
        precision.}],
      "bool", "mixesPrecision", (ins), "", [{ return false; }]>,
    InterfaceMethod<[{
        The integers that operand `i` may hold are [0, bound): positions along
        an index of that extent, or how many of its first positions count. 0 if
        there is no bound.}],
      "int64_t", "getIntegerBound", (ins "unsigned":$i), "", [{ return 0; }]>,
    InterfaceMethod<[{
        Whether the result is a constant to differentiation, whatever it was
        made from.}],
      "bool", "stopsGradient", (ins), "", [{ return false; }]>,
    InterfaceMethod<"The index structure, over global shapes.",
      "::tpsp::IndexStructure", "getIndexStructure", (ins), "",
      [{ return ::tpsp::structureByName($_op); }]>,
    InterfaceMethod<[{
        The names of the first result's indices, in order, where the operands
        determine them: what the author of a program may leave out. Asked of an
        operation whose results have no types yet.}],
      "std::optional<::llvm::SmallVector<::llvm::StringRef>>", "inferIndices",
      (ins), "", [{ return ::tpsp::indicesKept($_op); }]>,
    InterfaceMethod<[{
        The operation with the results that its adjoint reads besides those that
        the program does: itself, or another that has taken its place. Asked of
        an operation that is about to be differentiated.}],
      "::mlir::Operation *", "withAdjointResults",
      (ins "::mlir::OpBuilder &":$builder), "",
      [{ (void)builder; return $_op; }]>,
    InterfaceMethod<[{
        Adds the vector-Jacobian product: given the gradient of the first
        result, sets `gradients[i]` for every operand i with needed[i]. Values
        are created unplaced. Fails with a diagnostic where there is none.
        Other results have no gradient. A constant, or integers, hand on
        nothing.}],
      "::mlir::LogicalResult", "buildAdjoint",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$resultGradient,
           "::llvm::ArrayRef<bool>":$needed,
           "::llvm::MutableArrayRef<::mlir::Value>":$gradients), "",
      [{
        (void)builder; (void)resultGradient; (void)needed; (void)gradients;
        return ::mlir::success();
      }]>,
    InterfaceMethod<[{
        Says that the operation now computes a part of what it did: `index` of
        the result was (blocks, parts, rows), and is the rows of `part` in
        every block. An operation that computes with positions along the index
        accounts for that, or fails with a diagnostic.}],
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
        (attention), so that the composite goes before propagation. Others
        keep their index structure until shapes are local.}],
      "bool", "decomposesEarly", (ins), "", [{ return false; }]>,
    InterfaceMethod<[{
        Whether the parts only reduce over the indices that the composite needs
        whole (a norm's row, a softmax's), or hand on the ends of blocks (a
        scan's). Then an axis may divide a row: the composite goes, and only
        statistics or ends are sent.}],
      "bool", "reducesRows", (ins), "", [{ return false; }]>,
    InterfaceMethod<[{
        Whether it has a kernel of its own, so that it goes only where an axis
        divides a row. Its parts may then be of its own kind.}],
      "bool", "hasOwnKernel", (ins), "", [{ return false; }]>,
    InterfaceMethod<[{
        Builds the parts and returns the value that replaces the result, which
        is the only one; it has the result's type.}],
      "::mlir::Value", "decompose", (ins "::mlir::OpBuilder &":$builder)>
  ];
}

def Tpsp_LoopOpInterface : OpInterface<"LoopOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    An operation that is a loop nest over its indices. At every point a scalar
    is computed from the operands' elements. Scalars are combined by the
    operation's reduction over indices that the result lacks. Kernels are made
    of these.
  }];
  let methods = [
    InterfaceMethod<[{
        Emits the scalar. `operands` are f32 (f64 for f64 tensors), one per
        operand. `position` gives the global position of an index by name, of
        type index.}],
      "::mlir::Value", "emitScalar",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands,
           "::llvm::function_ref<::mlir::Value(::llvm::StringRef)>":$position)>,
    InterfaceMethod<[{
        What the scalar is of the operands' elements, where libraries have it
        too.}],
      "::tpsp::ScalarFormula", "getScalarFormula", (ins), "",
      [{ return {}; }]>,
    InterfaceMethod<[{
        Names of the indices whose global position emitScalar asks for.}],
      "::llvm::SmallVector<::llvm::StringRef>", "getPositionIndices", (ins), "",
      [{ return {}; }]>,
    InterfaceMethod<[{
        Where along an index of positions its operands lie, if not where the
        subscripts say: null, or the tile of a longer index.}],
      "::tpsp::TileAttr", "getTileOf", (ins "::llvm::StringRef":$index), "",
      [{ (void)index; return {}; }]>
  ];
}

def Tpsp_SweptOpInterface : OpInterface<"SweptOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    An operation that needs one index whole, but can see it block by block, in
    any order. It keeps a state of the size of a row: attention, with a running
    softmax. On local shapes, `tpsp-sweep` calls `sweepBlock` for each block,
    then `finishSweep`.

    A state is a list of values, empty before the first block. Operations that
    sweep the same blocks are done together, so what two of them compute alike
    for a block is made once (CSE).
  }];
  let methods = [
    InterfaceMethod<"The index that comes in blocks.",
      "::llvm::StringRef", "getSweptIndex">,
    InterfaceMethod<[{
        Takes one block. `operands` are the operation's own, but of those that
        carry the swept index a block, and `tile` says which. Returns the state
        after it. Also sets `parts[i]` for every result i that carries the index
        and has uses: the result's own block, of its element type.}],
      "::llvm::SmallVector<::mlir::Value>", "sweepBlock",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands,
           "::tpsp::TileAttr":$tile, "::mlir::ValueRange":$state,
           "::llvm::MutableArrayRef<::mlir::Value>":$parts)>,
    InterfaceMethod<[{
        Result number `result`, after all blocks. Called for those that have
        uses and do not carry the index.}],
      "::mlir::Value", "finishSweep",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$state,
           "unsigned":$result), "",
      [{ (void)builder; return state[result]; }]>
  ];
}

def Tpsp_AttentionOpInterface : OpInterface<"AttentionOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    Attention, or its gradient: what a library computes in one call.
  }];
  let methods = [
    InterfaceMethod<[{
        Whether it is the gradient: operands q, k, v, o, the statistic and the
        gradient of o, results the gradients of q, k, v and perhaps the bias.
        Else operands q, k and v, results o and perhaps the statistic. A bias,
        two tensors of segment numbers, lengths of keys and the step's number
        may follow.}],
      "bool", "isGradient", (ins), "", [{ return false; }]>,
    InterfaceMethod<[{
        The operation's tensors as heads of rows, or why no library's call
        computes it. Before partition, as far as it is known.}],
      "::tpsp::AttentionMatch", "matchHeads">,
    InterfaceMethod<[{
        The index that queries are rows of. Rows are independent: each is
        computed from its own part of what carries the index, and what a result
        without it has of them is summed.}],
      "::llvm::StringRef", "getRowIndex", (ins), "",
      [{ return $_op.getQuery(); }]>,
    InterfaceMethod<[{
        Which rows of a longer index these are, if not those that the subscripts
        say; else null.}],
      "::tpsp::TileAttr", "getRowTile", (ins), "",
      [{ return $_op.getTileAttr(); }]>,
    InterfaceMethod<"Says which rows of a longer index these are.",
      "void", "setRowTile", (ins "::tpsp::TileAttr":$tile), "",
      [{ $_op.setTileAttr(tile); }]>,
    InterfaceMethod<"What scores are multiplied by.",
      "double", "getScoreScale", (ins), "",
      [{ return $_op.getScale().convertToDouble(); }]>,
    InterfaceMethod<"Whether a query sees no later key.",
      "bool", "masksLaterKeys", (ins), "", [{ return $_op.getCausal(); }]>,
    InterfaceMethod<[{
        How many keys a query sees at most, itself and those before; 0 if there
        is no window.}],
      "int64_t", "getScoreWindow", (ins), "",
      [{ return int64_t($_op.getWindow().value_or(0)); }]>,
    InterfaceMethod<"What scores stay below, softly; 0 if there is no bound.",
      "double", "getScoreCap", (ins), "",
      [{ return $_op.getSoftcap() ? $_op.getSoftcap()->convertToDouble() : 0.0; }]>,
    InterfaceMethod<"What is added to scores; null if nothing is.",
      "::mlir::Value", "getBias", (ins), "",
      [{ return ::tpsp::attentionBias($_op->getOperands(), $_op.numTensors); }]>,
    InterfaceMethod<[{
        Segment numbers of the queries and of the keys; none, or two.}],
      "::mlir::ValueRange", "getSegments", (ins), "",
      [{ return ::tpsp::attentionSegments($_op->getOperands(), $_op.numTensors); }]>,
    InterfaceMethod<"How many of the first keys count; null if all do.",
      "::mlir::Value", "getLengths", (ins), "",
      [{ return ::tpsp::attentionLengths($_op->getOperands(), $_op.numTensors); }]>
  ];
}

def Tpsp_MaskingOpInterface : OpInterface<"MaskingOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    An operation that draws a mask and applies it at once, so that whoever needs
    the mask again draws it again: dropout.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the mask as a tensor, then its application, and returns the
        latter's result, which replaces the operation's.}],
      "::mlir::Value", "separateMask", (ins "::mlir::OpBuilder &":$builder)>
  ];
}

def Tpsp_RandomOpInterface : OpInterface<"RandomOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    An operation that draws at random, by its seed, by positions and, where it
    is the last operand, by the step's number.
  }];
  let methods = [
    InterfaceMethod<"Whether it draws, as it stands.", "bool", "draws">,
    InterfaceMethod<"Makes it keep everything.", "void", "stopDrawing">,
    InterfaceMethod<[{
        Makes the step's number, a floating-point tensor without indices, the
        last operand. To be called once.}],
      "void", "addStep", (ins "::mlir::Value":$step), "",
      [{ $_op.getInputsMutable().append(step); }]>
  ];
}

def Tpsp_BlockCopyOpInterface : OpInterface<"BlockCopyOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    An operation that copies whole blocks, positions of one index. Operands and
    result have the same indices in the same order but for that one, which a
    tensor of a single block lacks.
  }];
  let methods = [
    InterfaceMethod<"The name of the index.",
      "::llvm::StringRef", "getBlockIndex">,
    InterfaceMethod<"What is copied: every block of the result, once.",
      "::llvm::SmallVector<::tpsp::BlockCopy>", "getBlockCopies">
  ];
}

def Tpsp_CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    A collective. It does the difference between its operands' and results'
    subscripts, which is of the kind that it is named for (C1). Shapes and index
    names stay (C2). All tensors of a variadic collective move over the same
    axes (C3). (I2) and (I3) hold as for any operation.
  }];
  let methods = [
    InterfaceMethod<"The kind, a row of the collective table.",
      "::tpsp::CollectiveKind", "getCollectiveKind">,
    InterfaceMethod<"The axes' names, major to minor.",
      "::mlir::ArrayAttr", "getAxes", (ins), [{ return $_op.getAxes(); }]>,
    InterfaceMethod<"Which rule asked for it; null if nobody says.",
      "::mlir::StringAttr", "getReasonAttr", (ins),
      [{ return $_op.getReasonAttr(); }]>,
    InterfaceMethod<"What it moves, for people; null if nobody says.",
      "::mlir::StringAttr", "getTensorAttr", (ins),
      [{ return $_op.getTensorAttr(); }]>,
    InterfaceMethod<[{
        The numbers of the arguments whose gradients it moves, ascending; null
        if anything else reads a result (tpsp-note-gradients).}],
      "::mlir::DenseI64ArrayAttr", "getGradientsAttr", (ins),
      [{ return $_op.getGradientsAttr(); }]>
  ];
  let verify = [{ return ::tpsp::verifyCollectiveOp($_op); }];
}

def Tpsp_ExchangeOpInterface : OpInterface<"ExchangeOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    A collective or a piece of one, on local shapes. Every rank of a group gets
    the tensor of one of them, whatever the subscripts say. One operand and one
    result, of one type.
  }];
  let methods = [
    InterfaceMethod<"The group's axes, major to minor.",
      "::mlir::ArrayAttr", "getExchangeAxes", (ins), "",
      [{ return $_op.getAxes(); }]>,
    InterfaceMethod<[{
        Of every rank of a group of so many: the rank whose tensor it gets.}],
      "::llvm::SmallVector<int64_t>", "getSources", (ins "int64_t":$group)>,
    InterfaceMethod<[{
        The ledger's row of the collective that this is, or is a piece of, or
        null.}],
      "::mlir::Attribute", "getExchangeRow", (ins), "",
      [{ return $_op.getLedgerAttr(); }]>
  ];
}

#endif // TPSP_DIALECT_TPSP_INTERFACES_TD
