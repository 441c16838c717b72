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
    if (!text.consume_front("%"))
      return {};
    StringRef name = text.take_while([](char c) {
      return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.' || c == '-';
    });
    StringRef rest = text.drop_front(name.size()).ltrim();
    return rest.starts_with("=") ? name : StringRef();
  }

private:
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  SmallVector<StringRef> lines;
};

struct NameValues : public tpsp::impl::NameValuesBase<NameValues> {
  using Base::Base;

  void runOnOperation() override {
    llvm::StringMap<std::unique_ptr<SourceLines>> files;
    getOperation().walk([&](Operation *op) {
      auto location = dyn_cast<FileLineColLoc>(op->getLoc());
      if (!location || op->getNumResults() != 1)
        return;
      std::unique_ptr<SourceLines> &file = files[location.getFilename()];
      if (!file)
        file = std::make_unique<SourceLines>(location.getFilename());
      StringRef name = file->nameDefinedOn(location.getLine());
      if (!name.empty())
        op->setLoc(NameLoc::get(StringAttr::get(op->getContext(), name),
                                location));
    });
  }
};

} // namespace
