#include "Manual.h"

#include "tpsp/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OperationSupport.h"

using namespace tpsp;
using namespace tpsp::lsp;
using llvm::StringRef;

// docs/reference/Tpsp.md, with a 0 after it (CMakeLists.txt).
extern const unsigned char tpspOperationManual[];

static StringRef withoutDialect(StringRef name) {
  name.consume_front("tpsp.");
  return name;
}

/// Whether a line of the reference ends what an editor shows.
static bool endsDescription(StringRef line) {
  for (StringRef heading :
       {"Constraints:", "Traits:", "Interfaces:", "Effects:", "#### "})
    if (line.starts_with(heading))
      return true;
  return false;
}

ManualPage tpsp::lsp::manualOf(StringRef operation) {
  StringRef manual(reinterpret_cast<const char *>(tpspOperationManual));
  std::string heading =
      ("\n### `tpsp." + withoutDialect(operation) + "` ").str();
  ManualPage page;
  size_t at = manual.find(heading);
  if (at == StringRef::npos)
    return page;
  StringRef rest = manual.drop_front(at + heading.size());
  rest = rest.drop_front(rest.find('\n') + 1);
  while (!rest.empty()) {
    auto [line, next] = rest.split('\n');
    if (endsDescription(line) || line.starts_with("### "))
      break;
    bool isSummary = page.summary.empty() && line.starts_with("_");
    if (isSummary)
      page.summary = line.trim('_').str();
    page.text += (isSummary ? page.summary : line.str()) + "\n";
    rest = next;
  }
  page.text = StringRef(page.text).trim().str();
  return page;
}

static std::vector<OperationWords> findOperations() {
  mlir::DialectRegistry registry;
  tpsp::registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.getOrLoadDialect("tpsp");
  std::vector<OperationWords> operations;
  for (mlir::RegisteredOperationName each :
       context.getRegisteredOperationsByDialect("tpsp")) {
    OperationWords &words = operations.emplace_back();
    words.name = each.stripDialect().str();
    for (mlir::StringAttr attribute : each.getAttributeNames())
      words.attributes.push_back(attribute.str());
  }
  llvm::sort(operations, [](const auto &one, const auto &other) {
    return one.name < other.name;
  });
  return operations;
}

const std::vector<OperationWords> &tpsp::lsp::allOperations() {
  static const std::vector<OperationWords> operations = findOperations();
  return operations;
}

const OperationWords *tpsp::lsp::operationNamed(StringRef name) {
  for (const OperationWords &words : allOperations())
    if (words.name == withoutDialect(name))
      return &words;
  return nullptr;
}
