/// The contents of a tensor beyond the end of a padded index.
///
/// A padded index has more positions in the program that runs than in the
/// program as written (docs/Notation.md#padding). The positions after the end
/// are its tail. Their contents must not change any result before the end. So
/// an operation needs certain values in the tails of some operands:
///
///   z[b] = sum over v of a[b, v] w[v]     one of a and w is zero in the tail
///   m[b] = max over v of x[b, v]          x is low in the tail
///   y[b, v] = log x[b, v]                 x is 1, say, so that y is a number
///
/// Each operation states its needs (TailInterface.td). tpsp-pad-extents masks
/// the operands that do not meet them.
#ifndef TPSP_DIALECT_TPSP_TAILS_TAIL_H
#define TPSP_DIALECT_TPSP_TAILS_TAIL_H

#include <optional>

namespace tpsp {

class Tail {
public:
  /// Finite numbers, of which nothing more is known. Also stands for an absent
  /// tail.
  Tail() = default;
  static Tail number(double value) {
    Tail tail;
    tail.value = value;
    return tail;
  }
  static Tail zero() { return number(0); }
  /// Numbers below all others, so that a maximum ignores them and their
  /// exponentials are zero.
  static Tail low() {
    Tail tail;
    tail.isBelowAll = true;
    return tail;
  }

  /// The number that fills the tail, if it is known.
  std::optional<double> getNumber() const { return value; }
  bool isZero() const { return value == 0.0; }
  bool isLow() const { return isBelowAll; }

  bool operator==(const Tail &other) const {
    return value == other.value && isBelowAll == other.isBelowAll;
  }
  bool operator!=(const Tail &other) const { return !(*this == other); }

private:
  std::optional<double> value;
  bool isBelowAll = false;
};

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_TAILS_TAIL_H
