// tpsp-name-values: the names that the author gave to values, as locations.
#include "tpsp/Passes/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

namespace tpsp {
#define GEN_PASS_DEF_NAMEVALUES
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;

namespace {

/// The lines of a source file; none if it cannot be read.
class SourceLines {
public:
  explicit SourceLines(StringRef path) {
    auto file = llvm::MemoryBuffer::getFile(path);
    if (!file)
      return;
    buffer = std::move(*file);
    buffer->getBuffer().split(lines, '\n');
  }

  /// "y" of the line "  %y = tpsp.gelu %x : ...", if the line is like that.
  StringRef nameDefinedOn(unsigned line) const {
    if (line == 0 || line > lines.size())
      return {};
    StringRef text = lines[line - 1].ltrim();
    StringRef name = nameAt(text);
    StringRef rest = text.drop_front(name.empty() ? 0 : name.size() + 1);
    return rest.ltrim().starts_with("=") ? name : StringRef();
  }

  /// "x" of the argument "%x: ..." that begins at a line and column (from 1).
  StringRef argumentAt(unsigned line, unsigned column) const {
    if (line == 0 || line > lines.size() || column == 0)
      return {};
    return nameAt(lines[line - 1].drop_front(
        std::min<size_t>(column - 1, lines[line - 1].size())));
  }

private:
  static StringRef nameAt(StringRef text) {
    if (!text.consume_front("%"))
      return {};
    return text.take_while([](char c) {
      return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.' || c == '-';
    });
  }

  std::unique_ptr<llvm::MemoryBuffer> buffer;
  SmallVector<StringRef> lines;
};

struct NameValues : public tpsp::impl::NameValuesBase<NameValues> {
  using Base::Base;

  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (op->getNumResults() == 1)
        nameResult(op);
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            nameArgument(argument);
    });
    files.clear();
  }

private:
  const SourceLines &linesOf(FileLineColLoc location) {
    std::shared_ptr<SourceLines> &file = files[location.getFilename()];
    if (!file)
      file = std::make_shared<SourceLines>(location.getFilename());
    return *file;
  }

  Location called(StringRef name, Location location) {
    return NameLoc::get(StringAttr::get(&getContext(), name), location);
  }

  void nameResult(Operation *op) {
    auto location = dyn_cast<FileLineColLoc>(op->getLoc());
    if (!location)
      return;
    StringRef name = linesOf(location).nameDefinedOn(location.getLine());
    if (!name.empty())
      op->setLoc(called(name, location));
  }

  void nameArgument(BlockArgument argument) {
    auto location = dyn_cast<FileLineColLoc>(argument.getLoc());
    if (!location)
      return;
    StringRef name =
        linesOf(location).argumentAt(location.getLine(), location.getColumn());
    if (!name.empty())
      argument.setLoc(called(name, location));
  }

  /// Shared, because passes are copied.
  llvm::StringMap<std::shared_ptr<SourceLines>> files;
};

} // namespace
