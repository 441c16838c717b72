// Muon (Jordan et al., 2024, https://kellerjordan.github.io/posts/muon): the
// momentum of a matrix, orthogonalised by Newton-Schulz iterations. The default
// step size is that of Liu et al. (arXiv:2502.16982), so that learning rate and
// decay are AdamW's.
#include "Optimizer.h"

#include "tpsp/Dialect/Tpsp/IR/IndexedTensor.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace tpsp;

namespace {

using Names = SmallVector<StringRef>;

/// Presents a parameter as matrices X[batch, side, other side], where `side` is
/// the one with fewer elements.
class Matrices {
public:
  explicit Matrices(const ParameterStep &in) : type(in.even) {
    Names sides[2];
    for (auto [name, extent, role] :
         llvm::zip_equal(indexNames(type), type.getShape(), in.matrix)) {
      if (role == MatrixRole::Batch) {
        batch.push_back(name);
        continue;
      }
      bool isRow = role == MatrixRole::Row;
      (isRow ? rows : columns) *= extent;
      sides[isRow ? 0 : 1].push_back(name);
    }
    side = sides[rows <= columns ? 0 : 1];
    once = primed("_1");
    twice = primed("_2");
  }

  /// x divided by its Frobenius norm, then five times a x + (b A + c A A) x
  /// with A = x x'. Every iterate has the placement of the state,
  /// if that divides indices evenly.
  Value orthogonalize(UpdateBuilder &b, Value x) const {
    RankedTensorType number = tensorOver(batch, {type});
    Value squares = at(b.sum(b.square(x), batch), number);
    x = at(b.mul(x, b.rsqrt(b.shift(squares, 1e-14))), type);
    for (int i = 0; i < 5; ++i) {
      Value other = b.rename(x, side, once);
      Value a = product(b, x, other);
      Value aa = product(b, b.rename(a, once, twice), b.rename(a, side, twice));
      Value polynomial = b.add(b.scale(a, -4.7750), b.scale(aa, 2.0315));
      Value change = at(b.einsum(polynomial, other, indexNames(type)), type);
      x = at(b.add(b.scale(x, 3.4445), change), type);
    }
    return x;
  }

  /// The extents of one matrix.
  int64_t rows = 1, columns = 1;

private:
  static Value at(Value value, RankedTensorType type) {
    value.setType(type);
    return value;
  }

  /// The side's names with an ending that makes them unique.
  Names primed(const Twine &ending) const {
    return llvm::map_to_vector(side, [&](StringRef name) {
      std::string made = (name + ending).str();
      while (llvm::is_contained(indexNames(type), made))
        made += "_";
      return StringAttr::get(type.getContext(), made).getValue();
    });
  }

  /// A product [batch, side, side once more], divided along the batch only. An
  /// axis that divides the parameter can divide only one of the two sides.
  Value product(UpdateBuilder &b, Value x, Value y) const {
    Names names = batch;
    llvm::append_range(names, side);
    llvm::append_range(names, once);
    Value made = b.einsum(x, y, names);
    auto unplaced = typeOf(made);
    auto whole = RankedTensorType::get(
        unplaced.getShape(), unplaced.getElementType(),
        IdxAttr::get(type.getContext(), getIdx(unplaced).getNames()));
    return at(made, tensorOver(names, {tensorOver(batch, {type}), whole}));
  }

  RankedTensorType type;
  Names batch, side, once, twice;
};

} // namespace

static SmallVector<Value> build(UpdateBuilder &b, const ParameterStep &in) {
  double momentum = in.setting("momentum"), rms = in.setting("rms");
  Matrices matrices(in);
  Value buffer = b.average(in.state[0], in.gradient, momentum);
  Value direction = in.setting("nesterov") != 0
                        ? b.average(buffer, in.gradient, momentum)
                        : buffer;
  double rows = matrices.rows, columns = matrices.columns;
  double size = rms > 0 ? rms * std::sqrt(std::max(rows, columns))
                        : std::sqrt(std::max(1.0, rows / columns));
  Value change = b.scale(matrices.orthogonalize(b, direction), size);
  return {in.stepped(b, in.decayed(b, change)), buffer};
}

const Optimizer &tpsp::muon() {
  static const Optimizer optimizer = {
      {{"momentum", 0, 0.1}},
      {{"momentum", 0.95, 1}, {"nesterov", 1}, {"decay", 0.1}, {"rms", 0.2}},
      build,
      /*otherwise=*/adamW};
  return optimizer;
}
