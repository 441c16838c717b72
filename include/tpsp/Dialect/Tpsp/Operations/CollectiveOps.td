#ifndef TPSP_DIALECT_TPSP_OPERATIONS_COLLECTIVEOPS_TD
#define TPSP_DIALECT_TPSP_OPERATIONS_COLLECTIVEOPS_TD

include "tpsp/Dialect/Tpsp/IR/OpBase.td"

/// `axes` are major to minor and redundant: the verifier derives them from the
/// types. `reason` is the rule that asked for the collective, and `tensor` the
/// name of what it moves.
class Tpsp_CollectiveOp<string mnemonic, string kind,
                        list<string> overridden = []>
    : Tpsp_Op<mnemonic,
        [DeclareOpInterfaceMethods<Tpsp_CollectiveOpInterface, overridden>]> {
  let description = [{
    Constraints: (C1)-(C3).
  }];
  let arguments = (ins Tpsp_Tensor:$inputs, StrArrayAttr:$axes,
                       OptionalAttr<StrAttr>:$reason,
                       OptionalAttr<StrAttr>:$tensor,
                       OptionalAttr<DenseI64ArrayAttr>:$gradients);
  let results = (outs Tpsp_Tensor:$result);
  let assemblyFormat = "$inputs $axes attr-dict `:` type($inputs) `->` type($result)";
  let extraClassDefinition = [{
    ::tpsp::CollectiveKind $cppClass::getCollectiveKind() {
      return CollectiveKind::}] # kind # [{;
    }
  }];
}

/// Collectives that may also move several tensors, in one transfer.
class Tpsp_BucketOp<string mnemonic, string kind>
    : Tpsp_Op<mnemonic,
        [DeclareOpInterfaceMethods<Tpsp_CollectiveOpInterface>]> {
  let description = [{
    Moves one or several tensors in one collective.

    Constraints: (C1)-(C3).
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrArrayAttr:$axes,
                       OptionalAttr<StrAttr>:$reason,
                       OptionalAttr<StrAttr>:$tensor,
                       OptionalAttr<DenseI64ArrayAttr>:$gradients);
  let results = (outs Variadic<Tpsp_Tensor>:$result);
  let assemblyFormat = "$inputs $axes attr-dict `:` type($inputs) `->` type($result)";
  let extraClassDefinition = [{
    ::tpsp::CollectiveKind $cppClass::getCollectiveKind() {
      return CollectiveKind::}] # kind # [{;
    }
  }];
}
def Tpsp_AllReduceOp : Tpsp_BucketOp<"all_reduce", "AllReduce"> {
  let summary = "pending axes become nothing";
  let assemblyFormat =
    "$inputs $axes attr-dict `:` functional-type($inputs, $result)";
}
def Tpsp_ReduceScatterOp : Tpsp_BucketOp<"reduce_scatter", "ReduceScatter"> {
  let summary = "pending axes become subscripts of one index";
}
def Tpsp_AllGatherOp : Tpsp_BucketOp<"all_gather", "AllGather"> {
  let summary = "the minor subscripts of one index become nothing";
}
def Tpsp_AllToAllOp : Tpsp_CollectiveOp<"all_to_all", "AllToAll"> {
  let summary = "the minor subscripts of one index move to another";
}
def Tpsp_SliceOp : Tpsp_CollectiveOp<"slice", "Slice"> {
  let summary = "an index gains minor subscripts; no communication";
  let hasFolder = 1;
}
def Tpsp_PermuteOp : Tpsp_CollectiveOp<"permute", "Permute", ["getShift"]> {
  let summary = "the subscripts of one index change their order";
  let description = [{
    With `by` the subscripts stay, and each rank's tensor goes to another rank.
    Rank r of the group of `axes` (major to minor) receives the tensor of rank
    (r - by) mod group. With `mirrored` it receives that of rank
    (group - by - r) mod group.

    Constraints: (C1)-(C3), and
    - (C6) With `by` the type stays, the axes are those of one index, and 0 < by
           < group.
  }];
  let arguments = (ins Tpsp_Tensor:$inputs, StrArrayAttr:$axes,
                       OptionalAttr<StrAttr>:$reason,
                       OptionalAttr<StrAttr>:$tensor,
                       OptionalAttr<DenseI64ArrayAttr>:$gradients,
                       DefaultValuedAttr<I64Attr, "0">:$by,
                       UnitAttr:$mirrored);
}

def Tpsp_RotateOp
    : Tpsp_Op<"rotate", [
        AllTypesMatch<["input", "result"]>,
        DeclareOpInterfaceMethods<Tpsp_ExchangeOpInterface>]> {
  let summary = "the tensor of the rank `by` places before, around a ring";
  let description = [{
    Used on local shapes. Rank r of the group of `axes` (major to minor)
    receives the tensor of rank (r - by) mod group. Every rank's subscripts
    stay, so they no longer say which shard it holds. `ledger` is the row
    (#plan.ledger) of the collective that this is a piece of.

    Constraints:
    - (C4) The axes are the mesh's, and 0 < by < group.
  }];
  let arguments = (ins Tpsp_Tensor:$input, StrArrayAttr:$axes, I64Attr:$by,
                       OptionalAttr<AnyAttr>:$ledger);
  let results = (outs Tpsp_Tensor:$result);
  let assemblyFormat = "$input $axes `by` $by attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tpsp_MirrorOp
    : Tpsp_Op<"mirror", [
        AllTypesMatch<["input", "result"]>,
        DeclareOpInterfaceMethods<Tpsp_ExchangeOpInterface>]> {
  let summary = "the tensor of the rank at the mirrored place of the group";
  let description = [{
    Used on local shapes. Rank r of the group of `axes` (major to minor) and
    rank group - 1 - r exchange their tensors. Every rank's subscripts stay.
    `ledger` is its row (#plan.ledger).

    Constraints:
    - (C5) The axes are the mesh's, and the group has more than one rank.
  }];
  let arguments = (ins Tpsp_Tensor:$input, StrArrayAttr:$axes,
                       OptionalAttr<AnyAttr>:$ledger);
  let results = (outs Tpsp_Tensor:$result);
  let assemblyFormat = "$input $axes attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tpsp_SendOp : Tpsp_Op<"send", []> {
  let summary = "a stage sends a tensor to another stage";
  let description = [{
    Used on local shapes, in programs whose layers are divided over stages. Stage
    `from` sends its tensor to stage `to`, whose `tpsp.receive` has the same
    number `transfer`. `tensor` is the name of what it moves.
  }];
  let arguments = (ins Tpsp_Tensor:$input, I64Attr:$from, I64Attr:$to,
                       I64Attr:$transfer, OptionalAttr<StrAttr>:$tensor);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def Tpsp_ReceiveOp : Tpsp_Op<"receive", [AllTypesMatch<["input", "result"]>]> {
  let summary = "the tensor that another stage sends";
  let description = [{
    The other side of `tpsp.send`. The operand says what is received: the stage
    itself has no such tensor.
  }];
  let arguments = (ins Tpsp_Tensor:$input, I64Attr:$from, I64Attr:$to,
                       I64Attr:$transfer);
  let results = (outs Tpsp_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

#endif // TPSP_DIALECT_TPSP_OPERATIONS_COLLECTIVEOPS_TD
