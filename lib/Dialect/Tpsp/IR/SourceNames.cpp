#include "tpsp/Dialect/Tpsp/IR/SourceNames.h"
#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Dialect/Tpsp/IR/ModelText.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tpsp;

SourceLines::SourceLines(StringRef path) {
  if (rt::readWhole(path.str(), maxModelBytes, text).ok())
    StringRef(text).split(lines, '\n');
}

std::unique_ptr<SourceLines> SourceLines::ofText(StringRef text) {
  std::unique_ptr<SourceLines> out(new SourceLines);
  out->text = text.str();
  StringRef(out->text).split(out->lines, '\n');
  return out;
}

/// "y" of "%y ...".
static StringRef nameAt(StringRef text) {
  if (!text.consume_front("%"))
    return {};
  return text.take_while([](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.' || c == '-';
  });
}

StringRef SourceLines::nameDefinedOn(unsigned line) const {
  if (line == 0 || line > lines.size())
    return {};
  StringRef text = lines[line - 1].ltrim();
  StringRef name = nameAt(text);
  StringRef rest = text.drop_front(name.empty() ? 0 : name.size() + 1);
  rest = rest.ltrim();
  return rest.starts_with("=") || rest.starts_with(",") ? name : StringRef();
}

StringRef SourceLines::argumentAt(unsigned line, unsigned column) const {
  if (line == 0 || line > lines.size() || column == 0)
    return {};
  return nameAt(lines[line - 1].drop_front(
      std::min<size_t>(column - 1, lines[line - 1].size())));
}

void SourceNames::add(StringRef path, StringRef text) {
  files[path] = SourceLines::ofText(text);
}

const SourceLines &SourceNames::linesOf(FileLineColLoc location) {
  std::unique_ptr<SourceLines> &file = files[location.getFilename()];
  if (!file)
    file = std::make_unique<SourceLines>(location.getFilename());
  return *file;
}

std::string SourceNames::of(Value value) {
  if (auto named = value.getLoc()->findInstanceOf<NameLoc>()) {
    // A gradient's name, g[w], is not an SSA name.
    StringRef name = named.getName().getValue();
    return (name.contains('[') ? "" : "%") + name.str();
  }
  auto location = value.getLoc()->findInstanceOf<FileLineColLoc>();
  if (!location)
    return "";
  const SourceLines &lines = linesOf(location);
  StringRef name =
      isa<BlockArgument>(value)
          ? lines.argumentAt(location.getLine(), location.getColumn())
          : lines.nameDefinedOn(location.getLine());
  return name.empty() ? "" : "%" + name.str();
}

static Location called(StringRef name, Location location) {
  return NameLoc::get(StringAttr::get(location.getContext(), name), location);
}

static void nameResult(Operation *op, SourceNames &sources) {
  auto location = dyn_cast<FileLineColLoc>(op->getLoc());
  if (!location)
    return;
  StringRef name = sources.linesOf(location).nameDefinedOn(location.getLine());
  if (!name.empty())
    op->setLoc(called(name, location));
}

static void nameArgument(BlockArgument argument, SourceNames &sources) {
  auto location = dyn_cast<FileLineColLoc>(argument.getLoc());
  if (!location)
    return;
  StringRef name = sources.linesOf(location).argumentAt(location.getLine(),
                                                        location.getColumn());
  if (!name.empty())
    argument.setLoc(called(name, location));
}

void tpsp::nameValues(Operation *root, SourceNames &sources) {
  root->walk([&](Operation *op) {
    bool computes = isa<IndexedOpInterface>(op);
    if (op->getNumResults() == 1 || (computes && op->getNumResults() > 1))
      nameResult(op, sources);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          nameArgument(argument, sources);
  });
}

std::string tpsp::nameInSource(Value value) { return SourceNames().of(value); }

/// Finds the first place in a file, as findInstanceOf() does. Nearly all
/// locations lead there without the walk, which allocates.
static FileLineColLoc fileOf(Location loc) {
  for (LocationAttr at = loc;;) {
    if (auto file = dyn_cast<FileLineColLoc>(at))
      return file;
    auto fused = dyn_cast<FusedLoc>(at);
    if (auto named = dyn_cast<NameLoc>(at))
      at = named.getChildLoc();
    else if (auto call = dyn_cast<CallSiteLoc>(at))
      at = call.getCallee();
    else if (fused && !fused.getLocations().empty())
      at = fused.getLocations().front();
    else
      return loc->findInstanceOf<FileLineColLoc>();
  }
}

std::string tpsp::formatLocation(Location loc) {
  FileLineColLoc file = fileOf(loc);
  if (!file)
    return "";
  return file.getFilename().str() + ":" + std::to_string(file.getLine()) + ":" +
         std::to_string(file.getColumn());
}
