#include "PaddingChoice.h"

#include "Passes/Program/ViewTies.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IR/Padding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tpsp;

/// The largest multiple.
static constexpr int64_t largest = int64_t(1) << 32;

PaddingChoice::PaddingChoice(ModuleOp module)
    : module(module), families(module) {
  module.walk([&](IndexedOpInterface op) {
    if (op.isView())
      addTies(op);
  });
}

LogicalResult PaddingChoice::want(StringRef entry) {
  auto [name, text] = entry.split('=');
  int64_t multiple = 0;
  if (name.empty() || text.getAsInteger(10, multiple) || multiple < 1 ||
      multiple > largest)
    return error() << "expected index=multiple with a multiple from 1 to "
                   << largest << ", not '" << entry << "'";
  if (!families.knows(name))
    return error() << "the program has no index '" << name
                   << "'; its indices are "
                   << llvm::join(families.names(), ", ");
  return set(name, (extentOf(name) + multiple - 1) / multiple * multiple);
}

LogicalResult PaddingChoice::resume() {
  for (StringRef name : families.names())
    if (auto padded = extentIn(module, paddingAttrName, name))
      if (failed(set(name, *padded)))
        return failure();
  return success();
}

LogicalResult PaddingChoice::write() {
  Builder b(module.getContext());
  SmallVector<NamedAttribute> entries;
  for (auto [name, padded] : wanted)
    if (padded != extentOf(name))
      entries.push_back(b.getNamedAttr(name, b.getI64IntegerAttr(padded)));
  if (entries.empty())
    module->removeAttr(paddingAttrName);
  else
    module->setAttr(paddingAttrName, b.getDictionaryAttr(entries));
  WalkResult checked = module.walk([&](IndexedOpInterface op) {
    return op.isView() && failed(checkMinors(op)) ? WalkResult::interrupt()
                                                  : WalkResult::advance();
  });
  return failure(checked.wasInterrupted());
}

/// Begins an error at a function, because a module may have no line.
InFlightDiagnostic PaddingChoice::error() {
  auto functions = module.getOps<func::FuncOp>();
  return functions.empty() ? emitErrorAt(module)
                           : emitErrorAt(*functions.begin());
}

void PaddingChoice::addTies(IndexedOpInterface view) {
  for (const ViewTie &tie : viewTies(view)) {
    if (tie.from == tie.to)
      continue;
    ties[tie.from].push_back({tie.to, tie.fromRun, tie.toRun, view});
    ties[tie.to].push_back({tie.from, tie.toRun, tie.fromRun, view});
  }
}

int64_t PaddingChoice::extentOf(StringRef name) const {
  return families.extentsOf(families.familyOf(name)).front();
}

LogicalResult PaddingChoice::set(StringRef name, int64_t padded) {
  auto [known, isNew] = wanted.try_emplace(name, padded);
  if (isNew)
    return follow(name);
  if (known->second == padded)
    return success();
  return error() << "index '" << name << "' has " << known->second
                 << " positions with what it belongs to, and would have "
                 << padded << "; pad one of the two";
}

/// Sets the extents of indices that are tied to the index.
LogicalResult PaddingChoice::follow(StringRef first) {
  SmallVector<StringRef> work = {first};
  while (!work.empty()) {
    StringRef name = work.pop_back_val();
    ArrayRef<int64_t> all = families.extentsOf(families.familyOf(name));
    if (all.size() > 1)
      return error() << "index '" << name << "' has extents " << all[0]
                     << " and " << all[1]
                     << "; give what is not the same index another name";
    for (const Tie &tie : ties.lookup(name))
      if (failed(followTie(name, tie, work)))
        return failure();
  }
  return success();
}

LogicalResult PaddingChoice::followTie(StringRef name, const Tie &tie,
                                       SmallVectorImpl<StringRef> &work) {
  int64_t padded = wanted.find(name)->second;
  if (padded % tie.run != 0)
    return emitErrorAt(tie.op)
           << "index '" << name << "' has " << tie.run
           << " positions for each of '" << tie.other << "', which " << padded
           << " positions are no multiple of; pad '" << tie.other << "', or '"
           << name << "' to a multiple of " << tie.run;
  int64_t other = padded / tie.run * tie.otherRun;
  auto [known, isNew] = wanted.try_emplace(tie.other, other);
  if (isNew)
    work.push_back(tie.other);
  if (known->second == other)
    return success();
  return emitErrorAt(tie.op)
         << "index '" << tie.other << "' would have " << other
         << " positions beside '" << name << "' with " << padded << ", and "
         << known->second << " by what else is padded; pad one of the two";
}

/// Padding a minor part would move all positions after its first end.
LogicalResult PaddingChoice::checkMinors(IndexedOpInterface view) {
  for (StringRef name : minorParts(view)) {
    auto found = wanted.find(name);
    if (found == wanted.end() || found->second == extentOf(name))
      continue;
    return emitErrorAt(view)
           << "index '" << name << "' is padded (" << extentOf(name) << " to "
           << found->second
           << ") and is a minor part of a merged index, whose positions would "
              "move; pad the part before it instead";
  }
  return success();
}
