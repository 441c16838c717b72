/// Counts as polynomials in names: bytes, FLOPs and numbers of collectives in
/// the extents of indices and the sizes of axes.
///
///   4 L b s d (tp - 1)/tp
///
/// A formula is a sum of terms. A term is a whole number times powers of names,
/// negative where something is divided. It may have factors "one less than a
/// product of names", which ring collectives bring. Plain values; no IR.
#ifndef TPSP_ALGEBRA_FORMULA_H
#define TPSP_ALGEBRA_FORMULA_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace tpsp {

class Formula {
public:
  /// 0.
  Formula() = default;
  Formula(int64_t number);
  static Formula power(const std::string &name, int exponent = 1);
  /// The product of `names`, less one.
  static Formula lessOne(std::vector<std::string> names);

  Formula &operator+=(const Formula &other);
  Formula operator+(const Formula &other) const;
  Formula operator*(const Formula &other) const;
  bool isZero() const { return terms.empty(); }
  bool operator==(const Formula &other) const { return terms == other.terms; }

  /// Every name must have a value; of one that has none it is 1.
  double evaluate(const std::map<std::string, int64_t> &values) const;

  /// "4 L (2 b s d + d e) (tp - 1)/tp": terms with the same divisors together.
  /// Names in the order of `order`; others follow by the alphabet.
  std::string text(llvm::ArrayRef<std::string> order) const;

private:
  struct Factors {
    /// No exponent is 0.
    std::map<std::string, int> powers;
    /// Products of which one is taken away, sorted.
    std::vector<std::vector<std::string>> lessOne;
    bool operator<(const Factors &other) const {
      return std::tie(lessOne, powers) < std::tie(other.lessOne, other.powers);
    }
    bool operator==(const Factors &other) const {
      return powers == other.powers && lessOne == other.lessOne;
    }
  };
  friend class FormulaText;

  void add(const Factors &factors, int64_t coefficient);

  /// Without those of coefficient 0.
  std::map<Factors, int64_t> terms;
};

} // namespace tpsp

#endif // TPSP_ALGEBRA_FORMULA_H
