/// What a tensor holds beyond the end of a padded index.
///
/// A padded index has more positions in the program that runs than in the one
/// that was written (docs/Notation.md#padding). Those behind the end are its
/// tail. What is there must change nothing that is before the end. For that an
/// operation needs some operands so and so:
///
///   z[b] = sum over v of a[b, v] w[v]     one of a and w is zero in the tail
///   m[b] = max over v of x[b, v]          x is low in the tail
///   y[b, v] = log x[b, v]                 x is 1 there, say: y stays a number
///
/// An operation says it of itself (TailInterface.td); tpsp-pad-extents masks
/// operands that are not as they are needed.
#ifndef TPSP_DIALECT_TPSP_TAILS_TAIL_H
#define TPSP_DIALECT_TPSP_TAILS_TAIL_H

#include <optional>

namespace tpsp {

class Tail {
public:
  /// Finite numbers, of which no more is known; also, nothing at all.
  Tail() = default;
  static Tail number(double value) {
    Tail tail;
    tail.value = value;
    return tail;
  }
  static Tail zero() { return number(0); }
  /// Numbers that are below all others, so that a maximum passes over them and
  /// their exponentials are zero.
  static Tail low() {
    Tail tail;
    tail.isBelowAll = true;
    return tail;
  }

  /// The one number that is everywhere in the tail.
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
