// Tests the facts of a program that the planner gets.
#include "tpsp/Planning/PlannedProgram.h"

#include "tpsp/InitAll.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <set>

using namespace tpsp;
using namespace tpsp::planner;

static ProgramFacts factsOf(const std::string &example) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  PlannedProgramOptions options;
  options.forgetsPlacements = true;
  return llvm::cantFail(PlannedProgram::read(
                            context, TPSP_EXAMPLES "/" + example, options))
      ->facts();
}

// Only the head's product reads the layers' result.
TEST(PlannedProgram, TheHeadIsBehindLayers) {
  for (const char *example : {"llama-tiny.mlir", "gpt2-small.mlir"}) {
    SCOPED_TRACE(example);
    ProgramFacts facts = factsOf(example);
    ASSERT_TRUE(facts.areLayersAlike);
    std::vector<ProductFacts> behind;
    llvm::copy_if(
        facts.products, std::back_inserter(behind),
        [](const ProductFacts &product) { return product.isBehindLayers; });
    ASSERT_EQ(behind.size(), 1u);
    EXPECT_EQ(behind.front().count, 1);
    ClassId words = facts.find("v").value();
    bool makesWords = false;
    behind.front().forEachDim([&](const ProductFacts::Dim &dim) {
      makesWords |= dim.index == words;
    });
    EXPECT_TRUE(makesWords);
  }
}

// A program without layers has nothing after them.
TEST(PlannedProgram, WithoutLayersNothingIsBehindThem) {
  ProgramFacts facts = factsOf("tp.mlir");
  EXPECT_FALSE(facts.products.empty());
  EXPECT_TRUE(llvm::none_of(facts.products, [](const ProductFacts &product) {
    return product.isBehindLayers;
  }));
}

// The first operand of a grouped product selects matrices. It is no factor.
TEST(PlannedProgram, ProductsAreOfTheirFactorsType) {
  ProgramFacts facts = factsOf("moe-dropless.mlir");
  ClassId rows = facts.find("c").value();
  bool hasGrouped = false;
  for (const ProductFacts &product : facts.products) {
    EXPECT_EQ(product.dtype, TPSP_RT_F32);
    product.forEachDim(
        [&](const ProductFacts::Dim &dim) { hasGrouped |= dim.index == rows; });
  }
  EXPECT_TRUE(hasGrouped);
}

// Empty rows of blocks are computed, but are no work of the model. 32 tokens of
// two choices fill 64 of 4 x 24 rows.
TEST(PlannedProgram, EmptyRowsAreNoneOfTheModels) {
  ProgramFacts facts = factsOf("moe-dropless.mlir");
  ClassId rows = facts.find("c").value();
  double asWritten = 0, all = 0;
  for (const ProductFacts &product : facts.products) {
    bool isOfRows = false;
    product.forEachDim(
        [&](const ProductFacts::Dim &dim) { isOfRows |= dim.index == rows; });
    EXPECT_DOUBLE_EQ(product.filled, isOfRows ? 64.0 / 96 : 1);
    asWritten += product.flops * double(product.count);
    all += product.flops * product.filled * double(product.count);
  }
  EXPECT_LT(all, 0.9 * asWritten);
  EXPECT_DOUBLE_EQ(facts.modelFlops(/*hasGradients=*/true), 3 * all);
}

// Empty slots of experts are no work of the model, either. If there are as many
// slots as choices, all may be full.
TEST(PlannedProgram, ManySlotsStayEmpty) {
  ProgramFacts facts = factsOf("moe-ep.mlir");
  std::set<double> shares;
  for (const ProductFacts &product : facts.products)
    shares.insert(product.filled);
  EXPECT_EQ(*shares.rbegin(), 1);
  EXPECT_LT(*shares.begin(), 1);
  EXPECT_GT(*shares.begin(), 0);
}
