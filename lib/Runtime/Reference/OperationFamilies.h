//===- OperationFamilies.h - operations by family ---------------*- C++ -*-===//
//
// The file of a family has each operation's value and gradient next to each
// other, together with its row.
//===----------------------------------------------------------------------===//

#ifndef TPSP_RUNTIME_REFERENCE_OPERATIONFAMILIES_H
#define TPSP_RUNTIME_REFERENCE_OPERATIONFAMILIES_H

#include "Evaluation.h"

#include <utility>

namespace tpsp::reference {

using OperationRows = std::vector<std::pair<std::string, OperationRow>>;

OperationRows contractionOperations();
OperationRows pointwiseOperations();
OperationRows rowOperations();
OperationRows integerOperations();
OperationRows runOperations();
OperationRows sequenceOperations();
/// The row of every scalar function of one argument.
OperationRow unaryFunction();

/// The row of an operation of one or more operands whose gradient does not
/// depend on their values.
inline OperationRow linear(Tensor (*evaluate)(Evaluation &),
                           void (*differentiate)(Evaluation &, const Tensor &,
                                                 OperandGradients &)) {
  return {evaluate, differentiate, /*operands=*/1, /*readsOperands=*/false};
}

/// x summed over the indices that the type lacks, and constant along those that
/// x lacks, in the type's order. It is the transpose of a broadcast by name.
Tensor fitted(const Tensor &x, const ValueType &type, Evaluation &e);

Tensor scaled(const Tensor &x, double factor, Evaluation &e);

/// The position of an index among the result's dimensions. If there is none of
/// this name, records a failure and returns 0.
size_t placeOf(const std::string &name, Evaluation &e);

} // namespace tpsp::reference

#endif // TPSP_RUNTIME_REFERENCE_OPERATIONFAMILIES_H
