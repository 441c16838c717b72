//===- OperationFamilies.h - the reference's operations, by family -*- C++
//-*-===//
//
// An operation's value and gradient stand beside each other in the file of its
// family, and so does its row.
//
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

/// x summed over the indices that the type lacks, constant along those that x
/// lacks, in the type's order. A broadcast by name transposes to it.
Tensor fitted(const Tensor &x, const ValueType &type, Evaluation &e);

Tensor scaled(const Tensor &x, double factor, Evaluation &e);

/// The place of an index of the result among its dimensions; 0 and a failure if
/// it has none of this name.
size_t placeOf(const std::string &name, Evaluation &e);

} // namespace tpsp::reference

#endif // TPSP_RUNTIME_REFERENCE_OPERATIONFAMILIES_H
