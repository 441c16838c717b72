//===- Preconditions.h - checks and index names -----------------*- C++ -*-===//
//
// What every operation of the reference needs before it starts: reporting a
// failed precondition and looking index names up.
//
//===----------------------------------------------------------------------===//

#ifndef TPSP_RUNTIME_REFERENCE_PRECONDITIONS_H
#define TPSP_RUNTIME_REFERENCE_PRECONDITIONS_H

#include "tpsp/Runtime/Reference.h"

namespace tpsp::reference {

/// Keeps `message` unless an earlier one is there; returns an invalid tensor.
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

/// How far apart in memory neighbours along `name` are. It is 0 where x lacks
/// the index, and the sum of the strides (the diagonal) where x has it
/// repeatedly.
int64_t strideAlong(const Tensor &x, const std::string &name);

/// Where each position over x's indices `names` starts, in row-major order.
Shape offsetsOver(const Tensor &x, const IndexNames &names);

/// The extents that valid operands give to the names. With a nonempty `shape`
/// these must be its extents; otherwise every name must be an operand's.
/// Also checks that an index has one extent throughout. Empty on failure.
std::optional<Shape> resolveShape(const Operands &operands,
                                  const IndexNames &names, const Shape &shape,
                                  std::string *error);

} // namespace tpsp::reference

#endif // TPSP_RUNTIME_REFERENCE_PRECONDITIONS_H
