//===- Lifetimes.h - until when values of a program are needed --*- C++ -*-===//
//
// Finds which values the backward pass reads again, and which use of a value is
// its last. Evaluation frees values by it, and its memory is estimated by it.
//===----------------------------------------------------------------------===//

#ifndef TPSP_RUNTIME_REFERENCE_LIFETIMES_H
#define TPSP_RUNTIME_REFERENCE_LIFETIMES_H

#include "tpsp/Runtime/ReferenceProgram.h"

namespace tpsp::reference {

/// The remaining uses of a program's values.
class Lifetimes {
public:
  /// `program` must outlive this object, and its numbers must be consistent.
  explicit Lifetimes(const Program &program);

  /// Whether a value depends on an argument that wants a gradient.
  bool isActive(size_t value) const { return active[value]; }
  /// Whether the value's gradient is a result.
  bool isGradientWanted(size_t value) const { return isWanted[value]; }
  /// Whether the backward pass reads an operation's operands.
  bool isReadAgain(size_t operation) const;

  size_t uses(size_t value) const { return left[value]; }
  /// Counts one use less, and returns whether none is left.
  bool release(size_t value) { return --left[value] == 0; }

private:
  const Program &program;
  std::vector<bool> active;
  std::vector<size_t> left;
  std::vector<bool> isWanted;
};

/// leastBytes() of a program whose numbers are consistent.
int64_t mostAlive(const Program &program);

} // namespace tpsp::reference

#endif // TPSP_RUNTIME_REFERENCE_LIFETIMES_H
