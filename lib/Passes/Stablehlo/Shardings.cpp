#include "Shardings.h"

#include "HloDialects.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;
using namespace tpsp::hlo;

Shardings::Shardings(Operation *op) : mesh(findMesh(op)) {}

void Shardings::declareMesh(OpBuilder &b) {
  if (!mesh)
    return;
  std::string text = "mesh<[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(
      llvm::zip_equal(mesh.getAxisNames().getAsRange<StringAttr>(),
                      mesh.getAxisSizes()),
      os,
      [&](auto axis) { os << std::get<0>(axis) << "=" << std::get<1>(axis); });
  os << "]>";
  OperationState state(mesh.getLoc(), "sdy.mesh");
  state.addAttribute("sym_name", mesh.getSymNameAttr());
  state.addAttribute("mesh", foreignAttr<SdyDialect>(mesh.getContext(), text));
  b.create(state);
}

Attribute Shardings::of(Type type) {
  if (!mesh)
    return {};
  std::string text = "sharding<";
  llvm::raw_string_ostream os(text);
  os << FlatSymbolRefAttr::get(mesh.getSymNameAttr()) << ", [";
  llvm::interleaveComma(getIdx(type).getAxes(), os, [&](ArrayAttr axes) {
    os << "{";
    llvm::interleaveComma(axes, os);
    os << "}";
  });
  os << "]>";
  return foreignAttr<SdyDialect>(type.getContext(), text);
}

/// The index of each axis.
static llvm::SmallDenseMap<Attribute, StringAttr> homes(IdxAttr idx) {
  llvm::SmallDenseMap<Attribute, StringAttr> homes;
  for (auto [name, axes] : llvm::zip_equal(idx.getNames(), idx.getAxes()))
    for (Attribute axis : axes)
      homes[axis] = name;
  return homes;
}

bool Shardings::mustSay(OpResult result) {
  IdxAttr idx = getIdx(result);
  if (!mesh || idx.getUnplaced() || !idx.getPending().empty())
    return false;
  auto wanted = homes(idx);
  llvm::SmallDenseSet<Attribute> said;
  for (Value operand : result.getOwner()->getOperands()) {
    IdxAttr own = getIdx(operand);
    if (own.getUnplaced() || !own.getPending().empty())
      return true;
    auto there = homes(own);
    for (auto [axis, name] : there) {
      if (wanted.lookup(axis) != name)
        return true;
      said.insert(axis);
    }
    for (auto [axis, name] : wanted)
      if (own.dimOf(name.getValue()) && !there.contains(axis))
        return true;
  }
  return said.size() != wanted.size();
}
