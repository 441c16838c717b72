//===- Lifetimes.h - until when values of a program are needed --*- C++ -*-===//
//
// What the backward pass reads again, and which use of a value is its last.
// Evaluating frees by it, and the memory that evaluating takes is counted by
// it.
//
//===----------------------------------------------------------------------===//

#ifndef TPSP_RUNTIME_REFERENCE_LIFETIMES_H
#define TPSP_RUNTIME_REFERENCE_LIFETIMES_H

#include "tpsp/Runtime/ReferenceProgram.h"

namespace tpsp::reference {

/// The uses of a program's values that are still to come.
class Lifetimes {
public:
  /// `program` has to outlive this, and its numbers have to fit each other.
  explicit Lifetimes(const Program &program);

  /// Whether a value depends on an argument that wants a gradient.
  bool isActive(size_t value) const { return active[value]; }
  /// Whether the backward pass reads an operation's operands.
  bool isReadAgain(size_t operation) const;

  size_t uses(size_t value) const { return left[value]; }
  /// Counts one use less; whether none is left.
  bool release(size_t value) { return --left[value] == 0; }

private:
  const Program &program;
  std::vector<bool> active;
  std::vector<size_t> left;
};

/// leastBytes of a program whose numbers fit each other.
int64_t mostAlive(const Program &program);

} // namespace tpsp::reference

#endif // TPSP_RUNTIME_REFERENCE_LIFETIMES_H
