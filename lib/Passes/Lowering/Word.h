/// An integer under construction, so that arithmetic on bits reads as such.
#ifndef TPSP_PASSES_LOWERING_WORD_H
#define TPSP_PASSES_LOWERING_WORD_H

#include "tpsp/Dialect/Tpsp/Operations/ScalarFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tpsp {

/// An unsigned number of 32 or 64 bits; higher bits are dropped.
class Word {
public:
  Word(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value)
      : builder(&builder), loc(loc), value(value) {}

  mlir::Value get() const { return value; }
  /// A constant of the same width.
  Word constant(uint64_t bits) const {
    auto type = mlir::cast<mlir::IntegerType>(value.getType());
    llvm::APInt number(type.getWidth(), bits, /*isSigned=*/false,
                       /*implicitTrunc=*/true);
    return with(mlir::arith::ConstantOp::create(
        *builder, loc, builder->getIntegerAttr(type, number)));
  }

  Word operator+(const Word &other) const {
    return binary<mlir::arith::AddIOp>(other);
  }
  Word operator-(const Word &other) const {
    return binary<mlir::arith::SubIOp>(other);
  }
  Word operator*(const Word &other) const {
    return binary<mlir::arith::MulIOp>(other);
  }
  Word operator&(const Word &other) const {
    return binary<mlir::arith::AndIOp>(other);
  }
  Word operator|(const Word &other) const {
    return binary<mlir::arith::OrIOp>(other);
  }
  Word operator^(const Word &other) const {
    return binary<mlir::arith::XOrIOp>(other);
  }
  Word operator<<(const Word &count) const {
    return binary<mlir::arith::ShLIOp>(count);
  }
  /// Shifts in zeros.
  Word operator>>(const Word &count) const {
    return binary<mlir::arith::ShRUIOp>(count);
  }
  /// Shifts in the sign.
  Word shiftedSigned(unsigned count) const {
    return binary<mlir::arith::ShRSIOp>(constant(count));
  }

  /// The same number in a larger width, extended by zeros.
  Word widened(mlir::Type type) const {
    return with(mlir::arith::ExtUIOp::create(*builder, loc, type, value));
  }
  Word narrowed(mlir::Type type) const {
    return with(mlir::arith::TruncIOp::create(*builder, loc, type, value));
  }

  mlir::Value hasBit(uint64_t bit) const {
    return compared(mlir::arith::CmpIPredicate::ne, *this & constant(bit),
                    constant(0));
  }
  /// Compares as a signed number.
  mlir::Value isBelow(int64_t bound) const {
    return compared(mlir::arith::CmpIPredicate::slt, *this,
                    constant(uint64_t(bound)));
  }
  /// condition ? a : b
  static Word select(mlir::Value condition, const Word &a, const Word &b) {
    return a.with(mlir::arith::SelectOp::create(*a.builder, a.loc, condition,
                                                a.value, b.value));
  }

  /// The signed number as a float of `type`.
  Scalar toFloat(mlir::Type type) const {
    return {*builder, loc,
            mlir::arith::SIToFPOp::create(*builder, loc, type, value)};
  }
  /// The float of `type` that has these bits.
  Scalar asFloat(mlir::Type type) const {
    return {*builder, loc,
            mlir::arith::BitcastOp::create(*builder, loc, type, value)};
  }

private:
  Word with(mlir::Value result) const { return {*builder, loc, result}; }
  template <typename Op> Word binary(const Word &other) const {
    return with(Op::create(*builder, loc, value, other.value));
  }
  static mlir::Value compared(mlir::arith::CmpIPredicate predicate,
                              const Word &a, const Word &b) {
    return mlir::arith::CmpIOp::create(*a.builder, a.loc, predicate, a.value,
                                       b.value);
  }

  mlir::OpBuilder *builder;
  mlir::Location loc;
  mlir::Value value;
};

} // namespace tpsp

#endif // TPSP_PASSES_LOWERING_WORD_H
