#include "tpsp/Dialect/Tpsp/IR/IndexedTensor.h"
#include "tpsp/Abi/Quantity.h"
#include "tpsp/Dialect/Tpsp/IR/MeshOp.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tpsp;

IdxAttr tpsp::getIdx(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_or_null<IdxAttr>(tensor.getEncoding()) : IdxAttr();
}

IdxAttr tpsp::getIdx(Value value) { return getIdx(value.getType()); }

SmallVector<StringRef> tpsp::indexNames(Type type) {
  return llvm::map_to_vector(getIdx(type).getNames(),
                             [](StringAttr name) { return name.getValue(); });
}

SmallVector<StringRef> tpsp::indexNamesBut(Type type,
                                           ArrayRef<StringRef> left) {
  SmallVector<StringRef> names = indexNames(type);
  llvm::erase_if(
      names, [&](StringRef name) { return llvm::is_contained(left, name); });
  return names;
}

int64_t tpsp::extentOf(Type tensor, StringRef index) {
  std::optional<unsigned> dim = getIdx(tensor).dimOf(index);
  return dim ? cast<RankedTensorType>(tensor).getDimSize(*dim) : 0;
}

int64_t tpsp::extentOf(Value tensor, StringRef index) {
  return extentOf(tensor.getType(), index);
}

int64_t tpsp::positionsAlong(Type tensor, ArrayRef<StringRef> indices) {
  return llvm::product_of(llvm::map_range(
      indices, [&](StringRef index) { return extentOf(tensor, index); }));
}

bool tpsp::isUnplaced(Type type) {
  IdxAttr idx = getIdx(type);
  return idx && idx.getUnplaced();
}

unsigned tpsp::integerWidth(Value tensor) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  return type && type.getElementType().isInteger()
             ? type.getElementTypeBitWidth()
             : 0;
}

unsigned tpsp::widthOfFirst(Operation *op) {
  return op->getNumOperands() == 0 ? 0 : integerWidth(op->getOperand(0));
}

MeshOp tpsp::findMesh(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  if (!module)
    return {};
  auto meshes = module.getOps<MeshOp>();
  return meshes.empty() ? MeshOp() : *meshes.begin();
}

Mesh tpsp::meshOf(Operation *op) {
  MeshOp mesh = findMesh(op);
  return mesh ? mesh.getMesh() : Mesh();
}

Placement tpsp::placementOf(Type type, const Mesh &mesh) {
  IdxAttr idx = getIdx(type);
  Placement placement(idx.getRank());
  for (auto [dim, axes] : llvm::zip_equal(placement.dims, idx.getAxes()))
    for (auto name : axes.getAsRange<StringAttr>())
      if (std::optional<AxisId> axis = mesh.find(name.getValue()))
        dim.push_back(*axis);
  for (StringAttr name : idx.getPending())
    if (std::optional<AxisId> axis = mesh.find(name.getValue()))
      placement.pending.push_back(*axis);
  placement.reduction = idx.getPendingMax() ? Reduction::Max : Reduction::Sum;
  return placement;
}

RankedTensorType tpsp::withPlacement(RankedTensorType type,
                                     const Placement &placement,
                                     const Mesh &mesh) {
  MLIRContext *context = type.getContext();
  IdxAttr idx = getIdx(type);
  auto nameOf = [&](AxisId axis) {
    return StringAttr::get(context, mesh.axis(axis).name);
  };
  SmallVector<ArrayAttr> axes;
  for (const AxisList &list : placement.dims) {
    SmallVector<Attribute> names;
    for (AxisId axis : list)
      names.push_back(nameOf(axis));
    axes.push_back(ArrayAttr::get(context, names));
  }
  AxisList sorted = placement.pending;
  llvm::sort(sorted);
  auto placed = IdxAttr::get(
      context, idx.getNames(), axes, llvm::map_to_vector(sorted, nameOf),
      !sorted.empty() && placement.reduction == Reduction::Max,
      /*unplaced=*/false, idx.getLocal());
  return RankedTensorType::get(type.getShape(), type.getElementType(), placed);
}

RankedTensorType tpsp::withoutPlacement(RankedTensorType type) {
  return RankedTensorType::get(type.getShape(), type.getElementType(),
                               getIdx(type).withoutPlacement());
}

RankedTensorType tpsp::tensorOver(ArrayRef<StringRef> names,
                                  ArrayRef<RankedTensorType> sources) {
  MLIRContext *context = sources.front().getContext();
  SmallVector<StringAttr> nameAttrs;
  SmallVector<ArrayAttr> axes;
  SmallVector<int64_t> shape;
  bool unplaced = false, local = false;
  for (RankedTensorType source : sources) {
    unplaced |= getIdx(source).getUnplaced();
    local |= getIdx(source).getLocal();
  }
  for (StringRef name : names)
    for (RankedTensorType source : sources) {
      IdxAttr idx = getIdx(source);
      std::optional<unsigned> dim = idx.dimOf(name);
      if (!dim)
        continue;
      nameAttrs.push_back(idx.getNames()[*dim]);
      axes.push_back(unplaced ? ArrayAttr::get(context, {})
                              : idx.getAxes()[*dim]);
      shape.push_back(source.getDimSize(*dim));
      break;
    }
  assert(nameAttrs.size() == names.size() && "an index that no source carries");
  return RankedTensorType::get(
      shape, sources.front().getElementType(),
      IdxAttr::get(context, nameAttrs, axes, /*pending=*/{},
                   /*pendingMax=*/false, unplaced, local));
}

FloatType tpsp::floatTypeNamed(MLIRContext *context, StringRef name) {
  if (name == "f64")
    return Float64Type::get(context);
  if (name == "f32")
    return Float32Type::get(context);
  if (name == "bf16")
    return BFloat16Type::get(context);
  return name == "f16" ? FloatType(Float16Type::get(context)) : FloatType();
}

RankedTensorType tpsp::withElement(RankedTensorType type, Type element) {
  return RankedTensorType::get(type.getShape(), element, type.getEncoding());
}

RankedTensorType tpsp::withDimensions(RankedTensorType type, unsigned dim,
                                      ArrayRef<IndexedDimension> dims) {
  IdxAttr idx = getIdx(type);
  SmallVector<StringAttr> names(idx.getNames());
  SmallVector<ArrayAttr> axes(idx.getAxes());
  SmallVector<int64_t> shape(type.getShape());
  names.erase(names.begin() + dim);
  axes.erase(axes.begin() + dim);
  shape.erase(shape.begin() + dim);
  for (const IndexedDimension &each : llvm::reverse(dims)) {
    names.insert(names.begin() + dim, each.name);
    axes.insert(axes.begin() + dim,
                each.axes ? each.axes : ArrayAttr::get(type.getContext(), {}));
    shape.insert(shape.begin() + dim, each.extent);
  }
  return RankedTensorType::get(
      shape, type.getElementType(),
      IdxAttr::get(type.getContext(), names, axes, idx.getPending(),
                   idx.getPendingMax(), idx.getUnplaced(), idx.getLocal()));
}

std::string tpsp::subscripts(Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  Attribute(getIdx(type)).print(stream);
  // Drops the surrounding "#tpsp.idx<" and ">".
  StringRef inner = text;
  inner = inner.substr(inner.find('<') + 1);
  return inner.drop_back().str();
}

std::string tpsp::formatBytes(int64_t bytes) {
  return rt::bytesText(static_cast<double>(bytes));
}
