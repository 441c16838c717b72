#ifndef TPSP_DIALECT_PLAN_PLANBASE_TD
#define TPSP_DIALECT_PLAN_PLANBASE_TD

// The dialect and its attributes.
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::tpsp::plan";
  let summary = "The program of one rank, command by command";
  let description = [{
    A program is a list of commands on buffers of one arena. Every rank runs the
    same list. Its coordinates on the mesh decide its slices and groups. The
    memory report, the schedule check, the lowering to calls and the trace all
    read this dialect. So the predictions are about the program that runs.

    Version log:
      1: first version; 2: matmuls have epilogues; 3: attention in one call.
      4: the ledger is #plan.ledger, no dictionary.
      5: attention has a window, a soft-cap, a bias and segments.
      6: attention has lengths of keys, and matmuls may be grouped.
      7: attention without a window or a soft-cap lacks the attribute.
      8: attention has chunks.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
  let useDefaultAttributePrinterParser = 1;
}

def Plan_LedgerAttr : AttrDef<Plan_Dialect, "Ledger"> {
  let mnemonic = "ledger";
  let summary = "a description of a collective";
  let description = [{
    A row of the ledger (Abi/LedgerRow.h). Kind and phase are always printed,
    other fields unless they are empty.

    ```
    #plan.ledger<kind = "all_gather", axes = ["tp"], index = "s", bytes = 144,
                 phase = "forward", group = 4, tensor = "x", reason = "why">
    ```
  }];
  let parameters = (ins AttrParameter<"::tpsp::LedgerRow", "the row",
                                      "const ::tpsp::LedgerRow &">:$row);
  let hasCustomAssemblyFormat = 1;
}

def Plan_BufferKindAttr : AttrDef<Plan_Dialect, "BufferKind"> {
  let mnemonic = "kind";
  let summary = "the purpose of a buffer: its name in quotes";
  let parameters = (ins AttrParameter<"::tpsp::BufferKind", "the kind">:$value);
  let hasCustomAssemblyFormat = 1;
  // Accessors of operations take and return the enumeration.
  let returnType = "::tpsp::BufferKind";
  let convertFromStorage = "$_self.getValue()";
  let constBuilderCall =
      "::tpsp::plan::BufferKindAttr::get($_builder.getContext(), $0)";
}

#endif // TPSP_DIALECT_PLAN_PLANBASE_TD
