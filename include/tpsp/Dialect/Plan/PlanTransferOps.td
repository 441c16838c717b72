#ifndef TPSP_DIALECT_PLAN_PLANTRANSFEROPS_TD
#define TPSP_DIALECT_PLAN_PLANTRANSFEROPS_TD

// What stages send to each other. Included at the end of PlanOps.td.

def Plan_TransferOp
    : Plan_CommandOp<"transfer", "Collective",
                     [AttrSizedOperandSegments, MemoryEffects<[MemWrite]>], [],
                     "Transfer"> {
  let summary = "one side of a transfer between two ranks";
  let description = [{
    Rank `from` of the group of `axes` has a `source`, and rank `to` a `target`.
    An operation is one of the two sides. Both have the same number `transfer`. A
    sent tensor is written elsewhere, so the operation is never dead.
  }];
  let arguments = (ins Arg<Optional<AnyStaticShapeMemRef>, "", [MemRead]>:$source,
                       Arg<Optional<AnyStaticShapeMemRef>, "", [MemWrite]>:$target,
                       DenseI64ArrayAttr:$axes, I64Attr:$from, I64Attr:$to,
                       I64Attr:$transfer, OptionalAttr<Plan_LedgerAttr>:$ledger,
                       DefaultValuedAttr<I64Attr, "0">:$stream);
  let assemblyFormat = [{
    (`of` $source^ `:` type($source))? (`to` $target^ `:` type($target))?
    attr-dict
  }];
  let hasVerifier = 1;
}

#endif // TPSP_DIALECT_PLAN_PLANTRANSFEROPS_TD
