//===- Evaluation.h - one operation of a program, being evaluated -*- C++
//-*-===//
//
// What evaluating an operation, and differentiating it, have in common: its
// operands, its attributes, its types, and the first precondition that fails.
//
//===----------------------------------------------------------------------===//

#ifndef TPSP_RUNTIME_REFERENCE_EVALUATION_H
#define TPSP_RUNTIME_REFERENCE_EVALUATION_H

#include "tpsp/Runtime/ReferenceProgram.h"

#include <optional>

namespace tpsp::reference {

/// Rounds what a program stores to the types in which it stores it.
class Rounder {
public:
  explicit Rounder(const EvaluationOptions &options)
      : arithmetic(options.arithmetic), draw(options.draw),
        narrowsF64(options.narrowsF64) {}

  bool rounds() const { return arithmetic == Arithmetic::Rounded; }

  /// Rounds every element to a number of its type: the nearest one (ties to
  /// even), or, in a draw, one of the two next to it, by chance. Larger numbers
  /// than the type has become infinite. Integer rounds nothing; F64 only where
  /// options.narrowsF64 says so.
  void round(Element element, Tensor &x) const;

  /// In a draw: adds to `sum`, the einsum of `factors`, what adding its terms
  /// up one by one is off by, in f32 (or in F64, if that is narrowed). For
  /// random terms the error of so many partial sums is about the unit roundoff
  /// times the product of the factors' norms over what is summed away.
  void blur(Element element, Tensor &sum, const Operands &factors) const;

  /// In how many parts a sum is made that ranks may share.
  int64_t partsOfSum() const { return draw == 0 ? 2 : int64_t(2) << draw % 3; }

private:
  Arithmetic arithmetic;
  uint64_t draw;
  bool narrowsF64;
  /// Tensors rounded so far: each has random numbers of its own.
  mutable uint64_t rounded = 0;
};

/// One operation about to be evaluated.
struct Evaluation {
  const Operation &op;
  Operands operands;
  /// What the result is to look like.
  const ValueType &type;
  const Rounder &rounder;
  /// The first operand if nothing needs it afterwards, else null.
  Tensor *expendable = nullptr;
  /// The first precondition that was found violated.
  std::string error;
  /// What the operands' elements are stored in.
  std::vector<Element> elements = {};
  /// What parts are stored in that are added up to the result, or to a gradient
  /// that is being computed; if it is not that of the result.
  std::optional<Element> partElement = {};

  const Tensor &operand(size_t i) const { return *operands[i]; }
  const IndexNames &indices() const { return type.indices; }
  const Shape &shape() const { return type.shape; }

  void fail(const std::string &why) {
    if (error.empty())
      error = why;
  }

  /// The attribute `name`; if there is none of that type, a failure and its
  /// default.
  template <typename T> T get(const std::string &name) {
    auto it = op.attributes.find(name);
    if (it != op.attributes.end())
      if (const T *value = std::get_if<T>(&it->second))
        return *value;
    fail("lacks the attribute '" + name + "', or has it with another type");
    return {};
  }
  std::string text(const std::string &name) { return get<std::string>(name); }
  double real(const std::string &name) { return get<double>(name); }
  int64_t integer(const std::string &name) { return get<int64_t>(name); }
  IndexNames names(const std::string &name) { return get<IndexNames>(name); }
  /// The step's number, which is operand `i` if there is one.
  uint32_t stepFrom(size_t i) const {
    return i < operands.size() ? uint32_t(operand(i).data.front()) : 0;
  }
  /// Which of the operation's results this one is.
  int64_t result() { return has("result") ? integer("result") : 0; }
  bool has(const std::string &name) const {
    return op.attributes.count(name) > 0;
  }
  bool flag(const std::string &name) { return has(name) && get<bool>(name); }

  /// Rounds a tensor within a composite as a program in the result's type would
  /// that stores it.
  Tensor stored(Tensor x) const {
    if (rounder.rounds())
      rounder.round(partElement.value_or(type.element), x);
    return x;
  }
  /// `sum`, the einsum of `factors`, as a program in the result's type adds it
  /// up.
  Tensor added(Tensor sum, const Operands &factors) const {
    rounder.blur(type.element, sum, factors);
    return sum;
  }
  /// Both, for functions of Reference.h.
  Store store() const {
    return {[this](Tensor x) { return stored(std::move(x)); },
            [this](Tensor sum, const Operands &factors) {
              return added(std::move(sum), factors);
            }};
  }

  /// The einsum of `factors`. Rounded, it is the sum of two (in a draw also of
  /// four or eight) stored parts along the longest index that is summed over.
  /// Ranks, or blocks of a kernel, also leave rounded parts to be added.
  Tensor sum(const Operands &factors, const IndexNames &indices,
             const Shape &shape);

  /// The result of `f(values)` at every element.
  template <typename F> Tensor map(F f) {
    return pointwise(f, operands, indices(), shape(), &error);
  }
};

/// The gradients of an operation's operands, of which some are wanted.
class OperandGradients {
public:
  /// `types`: of the operands. `partElements`: what ranks add up the gradient
  /// of each in, if it is not the operand's own type.
  OperandGradients(Evaluation &evaluation, std::vector<const ValueType *> types,
                   std::vector<bool> wanted,
                   std::vector<std::optional<Element>> partElements)
      : evaluation(evaluation), types(std::move(types)),
        wants(std::move(wanted)), partElements(std::move(partElements)),
        gradients(this->types.size()) {}

  size_t size() const { return types.size(); }
  bool wanted(size_t i) const { return i < wants.size() && wants[i]; }
  const ValueType &type(size_t i) const { return *types[i]; }
  /// Sets the gradient of operand `i` to `f()`, if it is wanted.
  template <typename F> void set(size_t i, F f) {
    if (!wanted(i))
      return;
    evaluation.partElement = partElements[i];
    gradients[i] = f();
    evaluation.partElement.reset();
  }
  Tensor &of(size_t i) { return gradients[i]; }

private:
  Evaluation &evaluation;
  std::vector<const ValueType *> types;
  std::vector<bool> wants;
  std::vector<std::optional<Element>> partElements;
  std::vector<Tensor> gradients;
};

/// An operation of the reference.
struct OperationRow {
  Tensor (*evaluate)(Evaluation &e) = nullptr;
  /// Sets the gradients of the operands, given that of the result; null if the
  /// operation has none.
  void (*differentiate)(Evaluation &e, const Tensor &gradient,
                        OperandGradients &out) = nullptr;
  /// How many operands it reads at least.
  size_t operands = 0;
  /// Whether `differentiate` reads the operands' values. Otherwise they may be
  /// gone by then.
  bool readsOperands = true;
  /// Whether it is a constant to differentiation.
  bool stopsGradient = false;
  /// How much worse than the best `taken` is as the result of an operation that
  /// chooses; else null.
  double (*judge)(Evaluation &e, const Tensor &taken) = nullptr;
};

/// The operation called `name`; without an evaluation if there is none.
OperationRow findOperation(const std::string &name);

} // namespace tpsp::reference

#endif // TPSP_RUNTIME_REFERENCE_EVALUATION_H
