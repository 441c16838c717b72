// Formulas of the examples are derived at one size and compared with the
// programs themselves at others.
#include "Passes/Explain/Formulas.h"
#include "tpsp/Dialect/Tpsp/IR/IndexedTensor.h"
#include "tpsp/InitAll.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace tpsp;

namespace {

using Sizes = std::map<std::string, int64_t>;

struct FormulasTest : testing::TestWithParam<const char *> {
  FormulasTest() : context(registry(), MLIRContext::Threading::DISABLED) {}

  static DialectRegistry registry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  static std::vector<std::string> textsOf(const Sizes &sizes) {
    std::vector<std::string> texts;
    for (const auto &[name, size] : sizes)
      texts.push_back(name + "=" + std::to_string(size));
    return texts;
  }

  /// Returns nullopt if the program refuses these extents or axes.
  std::optional<ProgramFormulas> read(const Sizes &extents, const Sizes &axes) {
    ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) {});
    auto module = parseSourceFile<ModuleOp>(
        std::string(TPSP_EXAMPLES "/") + GetParam() + ".mlir", &context);
    EXPECT_TRUE(bool(module));
    PassManager pm(&context);
    CompileOptions options;
    options.grad = true;
    options.bucketBytes = 0;
    options.mesh = textsOf(axes);
    options.extents = textsOf(extents);
    addPass(pm, createSetMesh(), options);
    addPass(pm, createSetExtents(), options);
    pm.addPass(createNameValues());
    buildLogicalPipeline(pm, options);
    pm.addPass(createDropPrimals());
    buildCollectivePipeline(pm, options);
    if (failed(pm.run(*module)))
      return std::nullopt;
    func::FuncOp function = *module->getOps<func::FuncOp>().begin();
    return formulasOf(function, meshOf(function));
  }

  MLIRContext context;
};

std::vector<FormulaRow> rowsOf(const ProgramFormulas &formulas) {
  std::vector<FormulaRow> rows = formulas.collectives;
  rows.insert(rows.end(), formulas.products.begin(), formulas.products.end());
  rows.insert(rows.end(), formulas.memory.begin(), formulas.memory.end());
  return rows;
}

/// Whether the program is the same at both sizes. It may differ, because bytes
/// may decide whether a sum is reduced before or after an operation.
bool areAlike(const ProgramFormulas &one, const ProgramFormulas &other) {
  auto equal = [](const FormulaRow &a, const FormulaRow &b) {
    return a.what == b.what && a.count == b.count && a.amount == b.amount;
  };
  std::vector<FormulaRow> a = rowsOf(one), b = rowsOf(other);
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), equal);
}

/// Expects that formulas of one size give the counts at another. The ring
/// algorithm's bytes are rounded down for each tensor.
void expectEqual(const ProgramFormulas &formulas,
                 const ProgramFormulas &counted) {
  std::vector<FormulaRow> of = rowsOf(formulas), at = rowsOf(counted);
  ASSERT_EQ(of.size(), at.size());
  Sizes values;
  for (const ProgramFormulas::Name &name : counted.names)
    values[name.name] = name.value;
  for (size_t i = 0; i < of.size(); ++i) {
    EXPECT_EQ(of[i].what, at[i].what);
    EXPECT_EQ(of[i].count.evaluate(values), double(at[i].counted))
        << of[i].what << ": " << of[i].count.text({});
    EXPECT_NEAR(of[i].amount.evaluate(values), at[i].measured,
                double(at[i].counted) + 1e-9 * at[i].measured)
        << of[i].what << ": " << of[i].amount.text({});
  }
}

TEST_P(FormulasTest, HoldAtOtherExtentsAndMeshes) {
  std::optional<ProgramFormulas> first = read({}, {});
  ASSERT_TRUE(first);
  expectEqual(*first, *first);
  std::mt19937 engine(7);
  Sizes extents, axes;
  int changed = 0, chosen = 0;
  for (const ProgramFormulas::Name &name : first->names) {
    bool isAxis = read({}, {{name.name, name.value}}).has_value();
    if (!isAxis && !read({{name.name, name.value}}, {}))
      continue; // the number of layers
    Sizes more = isAxis ? axes : extents;
    more[name.name] = name.value * int64_t(2 + engine() % 2);
    auto other = isAxis ? read(extents, more) : read(more, axes);
    if (!other)
      continue;
    if (!areAlike(*first, *other)) {
      ++chosen;
      continue;
    }
    ++changed;
    (isAxis ? axes : extents) = more;
    expectEqual(*first, *other);
  }
  EXPECT_GE(changed, 3);
  // Expert parallelism moves slots or tokens, whichever are fewer. Their ratio
  // depends on s, e, k and c: the capacity is an extent of its own.
  EXPECT_LE(chosen, GetParam() == StringRef("moe-ep") ? 4 : 0);
}

INSTANTIATE_TEST_SUITE_P(Examples, FormulasTest,
                         testing::Values("mlp-sp", "gpt-block-sp", "tp-sp-fsdp",
                                         "moe-ep", "gqa-replicated",
                                         "cp-attention", "vocab-parallel",
                                         "llama-tiny", "zero2"));

} // namespace
