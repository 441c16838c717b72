/// Grows a random program, operation by operation. The entries of the table of
/// operations (Operations.cpp) use it.
#ifndef TPSP_TEST_PROPERTY_PROGRAMBUILDER_H
#define TPSP_TEST_PROPERTY_PROGRAMBUILDER_H

#include "Program.h"

#include <functional>
#include <optional>
#include <random>

namespace tpsp::property {

class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}

  /// 0 .. count - 1.
  unsigned below(unsigned count) { return engine() % count; }
  bool chance(double probability) {
    return double(engine() >> 11) * 0x1p-53 < probability;
  }
  template <typename List> auto &of(List &list) {
    return list[below(std::size(list))];
  }
  template <typename List> void shuffle(List &list) {
    for (size_t i = list.size(); i > 1; --i)
      std::swap(list[i - 1], list[below(i)]);
  }

private:
  std::mt19937_64 engine;
};

/// Bounds of a value's elements. They prevent logarithms of negative numbers
/// and overflow.
struct Range {
  double magnitude = 1.5;
  /// At least 0.05.
  bool positive = false;
};

/// The operations from which a program is made.
enum class Vocabulary { Numbers, NumbersAndIntegers };

class ProgramBuilder {
public:
  ProgramBuilder(Random &random, Program &program);

  Random &random;
  Program &program;

  const Tensor &tensor(ValueId value) const { return program.values[value]; }
  const Range &range(ValueId value) const { return ranges[value]; }
  /// Whether the program's type can hold the sum of the squares along such a
  /// row. If the tensor is one row, that sum is stored (seed 501421).
  bool canSquare(ValueId value, const std::vector<Dim> &row) const;

  //===--------------------------------------------------------------------===//
  // Values
  //===--------------------------------------------------------------------===//

  /// Picks a value of numbers, not integers, for which `fits` holds; recent
  /// ones more often.
  using Fits = std::function<bool(ValueId)>;
  std::optional<ValueId> pick(const Fits &fits);
  std::optional<ValueId> pick();
  /// Picks the second operand of an operation on `first`: an argument if
  /// onlyArguments.
  std::optional<ValueId> pickOther(ValueId first, const Fits &fits);

  /// Returns a new argument with these indices, or an existing one: parameters
  /// may be shared.
  ValueId argument(std::vector<Dim> dims, bool isParameter);

  /// Returns a new or existing argument of integers in [0, below).
  ValueId integers(std::vector<Dim> dims, int64_t below);

  /// Second operands are parameters or the first operand again, so that an
  /// axis role decides every disagreement of operands.
  bool onlyArguments = false;

  //===--------------------------------------------------------------------===//
  // Indices
  //===--------------------------------------------------------------------===//

  /// Returns some of the program's few indices, none of them twice.
  std::vector<Dim> someIndices(unsigned count);
  /// Returns a new index of this extent.
  Dim freshIndex(int64_t extent);
  /// Returns the indices of both, those of `a` first.
  std::vector<Dim> together(ValueId a, ValueId b) const;
  /// Whether a tensor of these indices is small enough.
  bool isSmall(const std::vector<Dim> &dims) const;
  /// Indices that a view renames. An axis on them moves to another name.
  std::vector<std::string> renamed;

  //===--------------------------------------------------------------------===//
  // Operations
  //===--------------------------------------------------------------------===//

  ValueId add(const std::string &mnemonic, std::vector<ValueId> operands,
              std::vector<Dim> dims, Range range,
              const std::string &attributes = "");
  /// The same with a result of integers in [0, below).
  ValueId addIntegers(const std::string &mnemonic,
                      std::vector<ValueId> operands, std::vector<Dim> dims,
                      int64_t below, const std::string &attributes);
  /// Returns a positive value, made from `value` if it is not positive.
  ValueId positive(ValueId value);

private:
  ValueId newArgument(std::vector<Dim> dims, bool isParameter);

  std::vector<Range> ranges;
  std::vector<Dim> pool;
  unsigned fresh = 0;
};

/// An operation of the language, as the generator knows it. `apply` adds it to
/// the program, or returns false and does nothing if no value fits.
struct OperationRule {
  const char *mnemonic;
  unsigned weight;
  Linear linear;
  /// Whether the operands are all activations, whose axes may disagree with
  /// nothing to decide between them.
  bool mixesActivations;
  std::function<bool(ProgramBuilder &builder)> apply;
};

/// Operations with floating-point operands and results (Operations.cpp).
const std::vector<OperationRule> &numberRules();
/// Attention. If `hasIntegers`, it has segments, lengths or both
/// (AttentionOperations.cpp).
OperationRule attentionRule(bool hasIntegers);
/// Adds attention without integers, and the operation that adds a bias to
/// scores.
void addAttentionRules(std::vector<OperationRule> &rules);
/// Lookups, writes and choices by integers (IntegerOperations.cpp).
const std::vector<OperationRule> &integerRules();

/// The largest magnitude of values. Beyond it squares and exponentials lose the
/// digits that are compared.
inline constexpr double largest = 1e3;

inline std::string quoted(const std::string &text) {
  return "\"" + text + "\"";
}

} // namespace tpsp::property

#endif // TPSP_TEST_PROPERTY_PROGRAMBUILDER_H
