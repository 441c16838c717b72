//===- Evaluation.h - evaluating one operation ------------------*- C++ -*-===//
//
// The state shared by evaluating and differentiating an operation: its
// operands, its attributes, its types, and the first precondition that fails.
//===----------------------------------------------------------------------===//

#ifndef TPSP_RUNTIME_REFERENCE_EVALUATION_H
#define TPSP_RUNTIME_REFERENCE_EVALUATION_H

#include "tpsp/Runtime/ReferenceProgram.h"

#include <optional>

namespace tpsp::reference {

/// Rounds values that a program stores to the types in which it stores them.
class Rounder {
public:
  explicit Rounder(const EvaluationOptions &options)
      : arithmetic(options.arithmetic), draw(options.draw),
        narrowsF64(options.narrowsF64) {}

  bool rounds() const { return arithmetic == Arithmetic::Rounded; }

  /// Rounds every element to a number of its type. Without a draw it is the
  /// nearest number (ties to even); in a draw it is one of the two adjacent
  /// numbers, at random. Numbers beyond the type's range become infinite.
  /// Integers are not rounded, and F64 is rounded only if options.narrowsF64 is
  /// set.
  void round(Element element, Tensor &x) const;

  /// A number of the program as code has it: the nearest number of the type in
  /// which results of this type are computed. That is f32 for 16 bits.
  double constant(Element element, double x) const;

  /// In a draw: adds to `sum`, the einsum of `factors`, the error of adding its
  /// terms up one by one. They are added in f32, or in F64 if that is narrowed.
  /// For random terms, the error is about the unit roundoff times the product
  /// of the factors' norms over the summed indices. A single factor of 16 bits
  /// may be read before it is rounded, in the kernel that makes it. So its own
  /// rounding is added, too.
  void blur(Element element, Tensor &sum, const Operands &factors) const;

  /// The number of parts into which a sum is split, as ranks may split it.
  int64_t partsOfSum() const { return draw == 0 ? 2 : int64_t(2) << draw % 3; }

private:
  Arithmetic arithmetic;
  uint64_t draw;
  bool narrowsF64;
  /// The number of tensors rounded so far; each has its own random numbers.
  mutable uint64_t roundedTensors = 0;
};

/// One operation that is being evaluated.
struct Evaluation {
  const Operation &op;
  Operands operands;
  /// The type that the result must have.
  const ValueType &type;
  const Rounder &rounder;
  /// The first operand if nothing needs it afterwards, otherwise null.
  Tensor *expendable = nullptr;
  /// The first violated precondition.
  std::string error;
  /// The types in which the operands' elements are stored.
  std::vector<Element> elements = {};
  /// The type in which parts are stored that are added up to the result, or to
  /// the gradient being computed. It is set only if it differs from the
  /// result's type.
  std::optional<Element> partElement = {};

  const Tensor &operand(size_t i) const { return *operands[i]; }
  const IndexNames &indices() const { return type.indices; }
  const Shape &shape() const { return type.shape; }

  void fail(const std::string &why) {
    if (error.empty())
      error = why;
  }

  /// The attribute `name`. If there is none of that type, records a failure and
  /// returns a default value.
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
  /// A number with which elements are computed.
  double constant(const std::string &name) {
    return rounder.constant(type.element, real(name));
  }
  int64_t integer(const std::string &name) { return get<int64_t>(name); }
  IndexNames names(const std::string &name) { return get<IndexNames>(name); }
  /// The step's number, which is operand `i` if that exists, otherwise 0.
  uint32_t stepFrom(size_t i) const {
    return i < operands.size() ? uint32_t(operand(i).data.front()) : 0;
  }
  /// The number of this result among the operation's results.
  int64_t result() { return has("result") ? integer("result") : 0; }
  bool has(const std::string &name) const {
    return op.attributes.count(name) > 0;
  }
  bool flag(const std::string &name) { return has(name) && get<bool>(name); }

  /// Reads the options that the operation states. The others keep their values.
  template <typename Options> void readOptions(Options &options) {
    Options::visitAll(options, [&](const char *name, auto &option) {
      if (has(name))
        readOption(name, option);
    });
  }
  void readOption(const char *name, bool &option) { option = flag(name); }
  void readOption(const char *name, int64_t &option) { option = integer(name); }
  void readOption(const char *name, double &option) { option = constant(name); }

  /// Rounds a tensor within a composite, as a program in the result's type does
  /// when it stores the tensor.
  Tensor stored(Tensor x) const {
    if (rounder.rounds())
      rounder.round(partElement.value_or(type.element), x);
    return x;
  }
  /// Returns `sum`, the einsum of `factors`, with the error of a program that
  /// adds up in the result's type.
  Tensor added(Tensor sum, const Operands &factors) const {
    rounder.blur(type.element, sum, factors);
    return sum;
  }
  /// The two functions above, for functions of Reference.h.
  Store store() const {
    return {[this](Tensor x) { return stored(std::move(x)); },
            [this](Tensor sum, const Operands &factors) {
              return added(std::move(sum), factors);
            }};
  }

  /// The einsum of `factors`. If it is rounded, it is the sum of two stored
  /// parts along the longest summed index; a draw may have four or eight.
  /// Ranks, or blocks of a kernel, also leave rounded parts to be added.
  Tensor sum(const Operands &factors, const IndexNames &indices,
             const Shape &shape);

  /// The result of `f(values)` at every element.
  template <typename F> Tensor map(F f) {
    return pointwise(f, operands, indices(), shape(), &error);
  }
};

/// The gradients of an operation's operands; only some may be wanted.
class OperandGradients {
public:
  /// `types` are those of the operands. `partElements` are the types in which
  /// ranks add up each gradient, if they differ from the operand's type.
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
  /// Sets the gradients of the operands, given the result's gradient. Null if
  /// the operation has none.
  void (*differentiate)(Evaluation &e, const Tensor &gradient,
                        OperandGradients &out) = nullptr;
  /// The least number of operands that it reads.
  size_t operands = 0;
  /// Whether `differentiate` reads the operands' values. Otherwise they may
  /// have been freed.
  bool readsOperands = true;
  /// Whether differentiation treats it as a constant.
  bool stopsGradient = false;
  /// For an operation that chooses: how much worse `taken` is as its result
  /// than the best choice. Otherwise null.
  double (*judge)(Evaluation &e, const Tensor &taken) = nullptr;
};

/// The operation called `name`. If there is none, `evaluate` is null.
OperationRow findOperation(const std::string &name);

} // namespace tpsp::reference

#endif // TPSP_RUNTIME_REFERENCE_EVALUATION_H
