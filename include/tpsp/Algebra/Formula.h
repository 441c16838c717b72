/// Counts as polynomials in names. The counts are bytes, FLOPs and numbers of
/// collectives; the names are extents of indices and sizes of axes.
///
///   4 L b s d (tp - 1)/tp
///
/// A formula is a sum of terms. A term is a whole number times powers of names;
/// a negative exponent divides. A term may have factors "one less than a
/// product of names", which come from ring collectives. Plain values; no IR.
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
  /// The product of `names`, minus one.
  static Formula lessOne(std::vector<std::string> names);

  Formula &operator+=(const Formula &other);
  Formula operator+(const Formula &other) const;
  Formula operator*(const Formula &other) const;
  bool isZero() const { return terms.empty(); }
  bool operator==(const Formula &other) const { return terms == other.terms; }

  /// A name without a value counts as 1; callers should give every name a
  /// value.
  double evaluate(const std::map<std::string, int64_t> &values) const;

  /// "4 L (2 b s d + d e) (tp - 1)/tp": terms with the same divisors stand
  /// together. Names come in the order of `order`; the others follow
  /// alphabetically.
  std::string text(llvm::ArrayRef<std::string> order) const;

private:
  struct Factors {
    /// No exponent is 0.
    std::map<std::string, int> powers;
    /// Factors "product minus one": the names of each product. Sorted.
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

  /// Terms with coefficient 0 are left out.
  std::map<Factors, int64_t> terms;
};

} // namespace tpsp

#endif // TPSP_ALGEBRA_FORMULA_H
