// The products of a transformer block, its projections, attention and MLP with
// all their gradients, are matrix products without a transpose copy.
#include "ExamplePlan.h"

#include "tpsp/Algebra/MatmulForm.h"
#include "tpsp/Dialect/Tpsp/TpspDialect.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace tpsp;

/// Expects that no product needs a transpose copy; returns how many are matrix
/// products. (The gradient of a gain, a sum of elementwise products, is not.)
static int expectForms(const std::string &name, int64_t ranks) {
  Example example(name, Example::Stage::Local, ranks);
  if (!example) {
    ADD_FAILURE() << example.takeMessages();
    return 0;
  }
  int products = 0;
  example.module().walk([&](IndexedOpInterface op) {
    if (!op.isSumOfProducts())
      return;
    MatmulMatch match = matchMatmul(op.getIndexStructure());
    products += match.obstacle == MatmulObstacle::None;
    EXPECT_NE(int(match.obstacle), int(MatmulObstacle::Layout))
        << subscripts(op->getOperand(0).getType()) << " . "
        << subscripts(op->getOperand(1).getType()) << " = "
        << subscripts(op->getResult(0).getType());
  });
  return products;
}

TEST(ExampleMatmulTest, EveryProductOfTheExamplesIsOne) {
  for (const std::string &name : exampleNames())
    for (int64_t ranks : {1, 2, 4, 8}) {
      // Each product of the MLP has two gradients; a block has eight products,
      // Llama's one more.
      bool isMlp = name.find("mlp") == 0;
      int products = name.find("llama") == 0 ? 27 : isMlp ? 6 : 24;
      SCOPED_TRACE(name + " on " + std::to_string(ranks) + " ranks");
      EXPECT_EQ(expectForms(name, ranks), products);
    }
}
