/// Sorts a program's index names into the planner's classes.
#ifndef TPSP_PLANNING_NAMECLASSES_H
#define TPSP_PLANNING_NAMECLASSES_H

#include "tpsp/Dialect/Tpsp/IR/Padding.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Planner/ProgramFacts.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>

namespace tpsp {

/// First all names are added and united, then take() numbers the classes.
class NameClasses {
public:
  /// `module` has the padded extents of indices, if there are any.
  explicit NameClasses(mlir::ModuleOp module) : module(module) {}

  void add(mlir::Type type) {
    if (IdxAttr idx = getIdx(type))
      for (auto [name, extent] :
           llvm::zip_equal(idx.getNames(),
                           mlir::cast<mlir::RankedTensorType>(type).getShape()))
        add(name.getValue(), extentIn(module, paddingAttrName, name.getValue())
                                 .value_or(extent));
  }

  void unite(llvm::StringRef a, llvm::StringRef b) {
    equal.unionSets(numbers.lookup(a), numbers.lookup(b));
  }
  /// Names of indices whose positions see each other, and of indices whose
  /// positions have parameters of their own.
  llvm::SmallSetVector<llvm::StringRef, 4> mixed, ownParameters;

  std::vector<planner::IndexClass> take() {
    std::vector<planner::IndexClass> classes;
    llvm::DenseMap<unsigned, planner::ClassId> ids;
    for (auto [number, name] : llvm::enumerate(names)) {
      auto [found, isNew] =
          ids.try_emplace(equal.getLeaderValue(number), classes.size());
      if (isNew)
        classes.push_back({{}, extents[number]});
      planner::IndexClass &each = classes[found->second];
      each.names.push_back(name);
      if (extents[number] < each.extent) {
        each.extent = extents[number];
        each.narrowest = name;
      }
      each.isMixed |= mixed.contains(name);
      each.hasOwnParameters |= ownParameters.contains(name);
      idOf[name] = found->second;
    }
    return classes;
  }

  planner::ClassId operator[](llvm::StringRef name) const {
    return idOf.lookup(name);
  }

  std::vector<planner::ClassId> operator()(mlir::Type type) const {
    std::vector<planner::ClassId> ids;
    for (llvm::StringRef name : indexNames(type))
      ids.push_back(idOf.lookup(name));
    return ids;
  }

private:
  mlir::ModuleOp module;
  void add(llvm::StringRef name, int64_t extent) {
    auto [found, isNew] = numbers.try_emplace(name, names.size());
    if (isNew) {
      equal.insert(names.size());
      names.push_back(name.str());
      extents.push_back(extent);
    }
    extents[found->second] = std::min(extents[found->second], extent);
  }

  llvm::StringMap<unsigned> numbers;
  std::vector<std::string> names;
  std::vector<int64_t> extents;
  llvm::EquivalenceClasses<unsigned> equal;
  llvm::StringMap<planner::ClassId> idOf;
};

} // namespace tpsp

#endif // TPSP_PLANNING_NAMECLASSES_H
