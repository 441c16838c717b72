// Products summed over names: dot_general.
#include "Forms.h"
#include "HloDialects.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tpsp;
using namespace tpsp::hlo;

namespace {

/// The roles of dimensions in a dot_general. Its result has the batch
/// dimensions, then those of x alone, then those of y alone.
struct DotRoles {
  SmallVector<int64_t> batchX, batchY, summedX, summedY;
  Space result;

  DotRoles(const NamedTensor &x, const NamedTensor &y, Names wanted) {
    Space own;
    for (auto [dim, name] : llvm::enumerate(x.names)) {
      if (!y.has(name)) {
        own.add(name, x.extent(name));
        continue;
      }
      bool isBatch = llvm::is_contained(wanted, name);
      (isBatch ? batchX : summedX).push_back(dim);
      (isBatch ? batchY : summedY).push_back(y.dimOf(name));
      if (isBatch)
        result.add(name, x.extent(name));
    }
    for (auto [name, extent] : llvm::zip_equal(own.names, own.extents))
      result.add(name, extent);
    for (StringAttr name : y.names)
      if (!x.has(name))
        result.add(name, y.extent(name));
  }

  std::string text() const {
    std::string text = "dot<";
    llvm::raw_string_ostream os(text);
    auto list = [&](StringRef name, ArrayRef<int64_t> dims) {
      os << name << " = [";
      llvm::interleaveComma(dims, os);
      os << "]";
    };
    if (!batchX.empty()) {
      list("lhs_batching_dimensions", batchX);
      list(", rhs_batching_dimensions", batchY);
      os << ", ";
    }
    list("lhs_contracting_dimensions", summedX);
    list(", rhs_contracting_dimensions", summedY);
    os << ">";
    return text;
  }
};

/// `x` summed over names that neither `y` nor the result has.
NamedTensor summedAlone(HloBuilder &h, const NamedTensor &x,
                        const NamedTensor &y, Names result) {
  SmallVector<StringAttr> kept(result);
  llvm::append_range(kept, y.names);
  bool isWhole = llvm::all_of(
      x.names, [&](StringAttr name) { return llvm::is_contained(kept, name); });
  if (isWhole)
    return x;
  return h.reduce(h.convert(x, h.wide(x.element())), kept, Reduction::Sum);
}

} // namespace

NamedTensor hlo::product(HloBuilder &h, NamedTensor x, NamedTensor y,
                         Names result) {
  Type wide = h.wide(x.element());
  x = summedAlone(h, x, y, result);
  y = summedAlone(h, y, x, result);
  if (x.element() != y.element()) {
    x = h.convert(x, wide);
    y = h.convert(y, wide);
  }
  DotRoles roles(x, y, result);
  MLIRContext *context = h.b.getContext();
  // Otherwise a backend may round f32 to fewer bits.
  Attribute highest =
      foreignAttr<StablehloDialect>(context, "precision HIGHEST");
  Value dot = h.make(
      "stablehlo.dot_general", roles.result.of(wide), {x.value, y.value},
      {h.named("dot_dimension_numbers",
               foreignAttr<StablehloDialect>(context, roles.text())),
       h.named("precision_config", h.b.getArrayAttr({highest, highest}))});
  return {dot, roles.result.names};
}
