//===- Preconditions.h - checks and index names -----------------*- C++ -*-===//
//
// Shared by all operations of the reference: reporting failed preconditions,
// and looking up index names.
//===----------------------------------------------------------------------===//

#ifndef TPSP_RUNTIME_REFERENCE_PRECONDITIONS_H
#define TPSP_RUNTIME_REFERENCE_PRECONDITIONS_H

#include "tpsp/Runtime/Reference.h"

namespace tpsp::reference {

/// Sets `message` unless there is an earlier one, and returns an invalid
/// tensor.
Tensor fail(std::string *error, const std::string &message);

/// "[b, s, d]", for messages.
std::string toString(const IndexNames &names);

bool contains(const IndexNames &names, const std::string &name);

/// Whether no name occurs twice.
bool areDistinct(const IndexNames &names);

/// The names without those in `removed`, each once, in their order.
IndexNames without(const IndexNames &names, const IndexNames &removed);

/// The names that are also in `kept`, each once, in their order.
IndexNames within(const IndexNames &names, const IndexNames &kept);

IndexNames concat(IndexNames first, const IndexNames &second);

/// The distance in memory between adjacent positions along `name`, in elements.
/// It is 0 if x lacks the index. If x has the index repeatedly, it is the sum
/// of the strides (the diagonal).
int64_t strideAlong(const Tensor &x, const std::string &name);

/// The offset of each position over x's indices `names`, in row-major order.
Shape offsetsOver(const Tensor &x, const IndexNames &names);

/// The extents that valid operands give to the names. If `shape` is not empty,
/// the extents must be those of `shape`; otherwise every name must belong to an
/// operand. Also checks that an index has one extent throughout. nullopt on
/// failure.
std::optional<Shape> resolveShape(const Operands &operands,
                                  const IndexNames &names, const Shape &shape,
                                  std::string *error);

} // namespace tpsp::reference

#endif // TPSP_RUNTIME_REFERENCE_PRECONDITIONS_H
